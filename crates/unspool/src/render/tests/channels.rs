use crate::format::file::{FormatFile, Group, List};

use super::{of, two_calls};

/// How the answer is written.
fn harmony(file: &mut FormatFile) {
    file.content.frame = List(vec!["<|start|>assistant<|channel|>final<|message|>{content}<|return|>".into()]);
}

fn muse(file: &mut FormatFile) {
    file.content.frame = List(vec!["<|start|>assistant to=user<|message|>{content}<|eot|>".into()]);
    file.tools.group = Group::Each;
}

#[test]
fn the_first_message_goes_on_behind_the_start_that_the_prompt_wrote() {
    let case = of("openai_gptoss", "openai").words(harmony);
    assert_eq!(case.clone().answer("Seven.").text(), "<|channel|>final<|message|>Seven.<|return|>");
    assert_eq!(
        case.clone().thought("Hm.").answer("Seven.").text(),
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Seven.<|return|>"
    );
    let call = |arguments: &str, name: &str| {
        format!("<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}<|call|>")
    };
    assert_eq!(
        case.calls(two_calls()).text(),
        [call("{\"port\": \"Looe\", \"days\": 3}", "tide"), call("{}", "ping")].join("<|start|>assistant")
    );
}

#[test]
fn calls_may_be_the_body_of_a_message() {
    let case = of("muse_glimmer", "muse_glimmer").words(muse);
    assert_eq!(
        case.clone().thought("Hm.").answer("Seven.").text(),
        " to=self<|message|>Hm.<|eom|><|start|>assistant to=user<|message|>Seven.<|eot|>"
    );
    assert_eq!(
        case.thought("Hm.").call("tide", r#"{"port": "Looe"}"#).text(),
        " to=self<|message|>Hm.<|eom|><|start|>assistant to=tide<|message|><atem:function_calls>\n<atem:invoke name=\"tide\">\n\
         <atem:parameter name=\"port\">Looe</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|>"
    );
}

#[test]
fn a_function_that_messages_of_another_kind_go_to_is_refused() {
    let case = of("muse_glimmer", "muse_glimmer").words(muse);
    assert_eq!(case.clone().call("self", "{}").refused(), "tool_calls[0].name");
    assert_eq!(
        of("openai_gptoss", "openai").words(harmony).call("python", "{}").text().matches("functions.python ").count(),
        1
    );
    assert_eq!(case.calls(two_calls()).text().matches(" to=").count(), 2, "each call is a message of its own");
}

#[test]
fn one_name_of_a_bound_pair_brings_both_halves() {
    assert_eq!(
        of("", "openai").words(harmony).thought("Hm.").answer("Seven.").text(),
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Seven.<|return|>"
    );
}

#[test]
fn a_marker_of_messages_is_no_text() {
    let case = of("openai_gptoss", "openai").words(harmony);
    assert_eq!(case.clone().answer("A <|start|> here.").refused(), "content");
    assert_eq!(case.thought("A <|return|> here.").refused(), "reasoning");
}
