//! What the templates say: instructions, flavours, and why there is none.

use unspool::Registry;
use unspool_check::write::{Wish, WriteError};

fn named(name: &str) -> Wish {
    Wish::named(&Registry::builtin(), name)
}

#[test]
fn instructions_show_the_syntax_of_the_format() {
    let written = |name: &str| named(name).template(&Registry::builtin()).unwrap();
    for (name, mark) in [
        ("hermes", "<tool_call>\\n{\\\"name\\\": \\\"function_name\\\", \\\"arguments\\\": {"),
        (
            "qwen3_coder",
            "<tool_call>\\n<function=function_name>\\n<parameter=first_argument>\\nsome text\\n</parameter>",
        ),
        ("pythonic", "[function_name(first_argument='some text', second_argument=3)]"),
    ] {
        let text = written(name);
        assert!(text.contains(mark), "{name}: {text}");
    }
    let own = Wish { instructions: Some("Call them as you like.".to_owned()), ..named("hermes") };
    let text = own.template(&Registry::builtin()).unwrap();
    assert!(text.contains("Call them as you like.") && !text.contains("function_name"), "{text}");
    // For a family without instructions of its own, the template has the operator's text.
    let own = Wish { instructions: Some("Call them as you like.".to_owned()), ..named("granite") };
    assert!(own.template(&Registry::builtin()).unwrap().contains("Call them as you like."));
}

#[test]
fn what_cannot_be_written_is_told() {
    let error = |name: &str| named(name).template(&Registry::builtin()).expect_err("it cannot be written");
    assert_eq!(error("jamba"), WriteError::NoTurns);
    assert!(error("jamba").told().1.contains("the checkpoint's own"), "{:?}", error("jamba").told());
    let (message, hint) = error("mistral/v9").told();
    assert!(message.contains("`v9`") && hint.contains("`v3`"), "{message} {hint}");
    assert!(error("hermes/v1").told().1.contains("`qwen`"));
    assert!(error("qwen3_json/v1").told().1.contains("one way"));
    assert!(error("herms").told().1.contains("did you mean `hermes`?"));
    assert!(matches!(error("minimax_m2_append_think"), WriteError::Unwritable(_)));
}

#[test]
fn a_name_of_two_families_is_that_of_the_calls() {
    let wish = named("deepseek_v3");
    assert_eq!((wish.reasoning_parser, wish.tool_parser.as_deref()), (None, Some("deepseek_v3")));
    let wish = named("kimi_k2");
    assert_eq!((wish.reasoning_parser.as_deref(), wish.tool_parser.as_deref()), (Some("kimi_k2"), Some("kimi_k2")));
    let wish = named("mistral/v3");
    assert_eq!((wish.tool_parser.as_deref(), wish.flavour.as_deref()), (Some("mistral"), Some("v3")));
}
