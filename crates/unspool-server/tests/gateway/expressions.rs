//! Expressions and choices in front of servers that take them in another notation.

use serde_json::{Value, json};
use unspool_server::{ConstraintConfig, GrammarBackend, RemoteKind, ServeConfig};

use crate::common::{Choice, Gateway, json_of, plain_chat};
use crate::fake::{Fake, in_front, singly};

/// What a server is asked for these outputs, where there is no thought.
async fn asked(kind: RemoteKind, structured_outputs_backend: GrammarBackend, outputs: Value) -> Value {
    let (fake, url) = Fake::start(kind, vec![singly("Aye.")]).await;
    let constraint = ConstraintConfig { structured_outputs_backend, ..ConstraintConfig::default() };
    let gateway = Gateway::start(ServeConfig { constraint, ..in_front(kind, url) }).await;
    let switches = json!({"enable_thinking": false});
    gateway.whole(&plain_chat(json!({"structured_outputs": outputs, "chat_template_kwargs": switches}))).await;
    fake.seen().remove(0)
}

#[tokio::test]
async fn a_llamacpp_is_told_expressions_and_choices_as_grammars() {
    let seen = asked(RemoteKind::LlamaCpp, GrammarBackend::Auto, json!({"choice": ["yes", "no"]})).await;
    assert_eq!(seen["grammar"], "root ::= \"yes\" | \"no\"");
    let seen = asked(RemoteKind::LlamaCpp, GrammarBackend::None, json!({"regex": "a{2}|b"})).await;
    assert_eq!(seen["grammar"], "root ::= ((\"a\"){2,2} | \"b\")");
    let seen = asked(RemoteKind::LlamaCpp, GrammarBackend::Auto, json!({"grammar": "root ::= [ab]"})).await;
    assert_eq!(seen["grammar"], "root ::= [ab]");
    let seen = asked(RemoteKind::Tgi, GrammarBackend::Auto, json!({"choice": ["a.", "b"]})).await;
    assert_eq!(seen.pointer("/parameters/grammar/value"), Some(&json!("a\\.|b")));
    // Behind a thought it waits for the end of that.
    let (fake, url) = Fake::start(RemoteKind::LlamaCpp, vec![singly("So.</think>"), singly("yes")]).await;
    let gateway = Gateway::start(in_front(RemoteKind::LlamaCpp, url)).await;
    let choice = plain_chat(json!({"structured_outputs": {"choice": ["yes", "no"]}}));
    let whole = Choice::of_whole(&gateway.whole(&choice).await["choices"][0]);
    assert_eq!((whole.reasoning.as_str(), whole.content.as_str()), ("So.", "yes"));
    let [first, again] = &fake.seen()[..] else { panic!("it is asked twice") };
    assert_eq!((first.get("grammar"), &again["grammar"]), (None, &json!("root ::= \"yes\" | \"no\"")));
    for (outputs, param) in [
        (json!({"regex": "(a)\\1"}), "structured_outputs.regex"),
        (json!({"choice": []}), "structured_outputs.choice"),
        (json!({"structural_tag": "{}"}), "structured_outputs.structural_tag"),
    ] {
        let refused = gateway.post("/v1/chat/completions", &plain_chat(json!({"structured_outputs": outputs}))).await;
        assert_eq!(json_of(refused).await["error"]["param"], param);
    }
}
