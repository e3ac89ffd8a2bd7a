use serde_json::json;

use super::{call, of, two_calls};

#[test]
fn one_object_is_one_call() {
    for (name, text) in [
        (
            "hermes",
            "<tool_call>\n{\"name\": \"tide\", \"arguments\": {\"port\": \"Looe\", \"days\": 3}}\n</tool_call>\n\
             <tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>",
        ),
        (
            "longcat",
            "<longcat_tool_call>\n{\"name\": \"tide\", \"arguments\": {\"port\": \"Looe\", \"days\": 3}}\n</longcat_tool_call>\
             <longcat_tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</longcat_tool_call>",
        ),
        (
            "internlm",
            "<|action_start|><|plugin|>\n{\"name\": \"tide\", \"arguments\": {\"port\": \"Looe\", \"days\": 3}}<|action_end|>\
             <|action_start|><|plugin|>\n{\"name\": \"ping\", \"arguments\": {}}<|action_end|>",
        ),
        (
            "granite-20b-fc",
            "<function_call> {\"name\": \"tide\", \"arguments\": {\"port\": \"Looe\", \"days\": 3}}\
             <function_call> {\"name\": \"ping\", \"arguments\": {}}",
        ),
        (
            "gigachat3",
            "<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"tide\", \"arguments\": {\"port\": \"Looe\", \"days\": 3}}\
             <|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"ping\", \"arguments\": {}}",
        ),
        (
            "llama3_json",
            "{\"name\": \"tide\", \"parameters\": {\"port\": \"Looe\", \"days\": 3}}; {\"name\": \"ping\", \"parameters\": {}}",
        ),
    ] {
        assert_eq!(of("", name).calls(two_calls()).text(), text, "{name}");
    }
}

#[test]
fn a_list_holds_all_calls() {
    let list = "[{\"name\": \"tide\", \"arguments\": {\"port\": \"Looe\", \"days\": 3}}, {\"name\": \"ping\", \"arguments\": {}}]";
    for (name, open, close) in [
        ("jamba", "<tool_calls>", "</tool_calls>"),
        ("hunyuan_a13b", "<tool_calls>", "</tool_calls>"),
        ("granite", "<|tool_call|>", ""),
        ("phi4_mini_json", "functools", ""),
        ("xlam", "", ""),
    ] {
        assert_eq!(of("", name).calls(two_calls()).text(), format!("{open}{list}{close}"), "{name}");
    }
    assert_eq!(
        of("", "apertus").calls(two_calls()).text(),
        "<|tools_prefix|>[{\"tide\": {\"port\": \"Looe\", \"days\": 3}}, {\"ping\": {}}]<|tools_suffix|>"
    );
}

#[test]
fn an_envelope_may_have_keys_and_ids_of_its_own() {
    let mut calls = two_calls();
    calls[1].id = "tool-7".to_owned();
    assert_eq!(
        of("", "cohere_command3").calls(calls).text(),
        "<|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"tide\", \"parameters\": {\"port\": \"Looe\", \"days\": 3}}, \
         {\"tool_call_id\": \"tool-7\", \"tool_name\": \"ping\", \"parameters\": {}}]<|END_ACTION|>"
    );
    assert_eq!(
        of("inkling", "inkling").answer("Sure.").calls(two_calls()).text(),
        "<|content_text|>Sure.<|end_message|>\
         <|message_model|><|content_invoke_tool_json|>{\"name\": \"tide\", \"args\": {\"port\": \"Looe\", \"days\": 3}}<|end_message|>\
         <|message_model|><|content_invoke_tool_json|>{\"name\": \"ping\", \"args\": {}}<|end_message|>"
    );
}

#[test]
fn a_request_may_ask_for_envelopes() {
    let json = json!({"chat_template_kwargs": {"tool_call_format": "json"}});
    assert_eq!(
        of("", "k2_horizon").calls(two_calls()).with(json).text(),
        "<ifm|tool_calls>\n<ifm|tool_call>{\"name\": \"tide\", \"arguments\": {\"port\": \"Looe\", \"days\": 3}}</ifm|tool_call>\
         <ifm|tool_call>{\"name\": \"ping\", \"arguments\": {}}</ifm|tool_call></ifm|tool_calls>"
    );
}

#[test]
fn arguments_are_passed_on_byte_for_byte() {
    let arguments = "{\"b\":1.50,\n \"a\": \"</tool_call>\\u00e9\", \"b\": 1e3}";
    let text = format!("<tool_call>\n{{\"name\": \"odd.name\", \"arguments\": {arguments}}}\n</tool_call>");
    assert_eq!(of("", "hermes").call("odd.name", &format!(" {arguments}\n")).text(), text);
}

#[test]
fn white_space_that_begins_a_call_separates_it_from_what_stands_before() {
    let one = "\n<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>";
    assert_eq!(of("", "hermes").answer("Sure.").call("ping", "{}").text(), format!("Sure.{one}"));
    assert_eq!(of("", "hermes").call("ping", "{}").text(), one.trim_start());
    let thought = "<think>\nHm.\n</think>\n\n";
    assert_eq!(of("qwen3", "qwen3_json").thought("Hm.").call("ping", "{}").text(), format!("{thought}{one}"));
}

#[test]
fn frames_are_written_around_the_answer_only() {
    assert_eq!(
        of("ernie45", "ernie45").thought("Hm.").answer("Sure.").call("ping", "{}").text(),
        "<think>\nHm.\n</think>\n\n<response>\nSure.\n</response>\n\n<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>"
    );
    assert_eq!(
        of("", "cohere_command4").calls(vec![call("ping", "{}")]).text(),
        "<|START_THINKING|><|END_THINKING|><|START_ACTION|>\
         [{\"tool_call_id\": \"0\", \"tool_name\": \"ping\", \"parameters\": {}}]<|END_ACTION|>"
    );
}
