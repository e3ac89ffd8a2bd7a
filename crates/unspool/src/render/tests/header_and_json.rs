use serde_json::json;

use super::{call, of, two_calls};

#[test]
fn a_header_names_the_function_and_json_follows() {
    for (name, text) in [
        (
            "deepseek_v3",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>tide\n```json\n{\"port\": \"Looe\", \"days\": 3}\n```\
             <｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>ping\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ),
        (
            "deepseek_v31",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>tide<｜tool▁sep｜>{\"port\": \"Looe\", \"days\": 3}<｜tool▁call▁end｜>\
             <｜tool▁call▁begin｜>ping<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ),
        ("mistral", "[TOOL_CALLS]tide[ARGS]{\"port\": \"Looe\", \"days\": 3}[TOOL_CALLS]ping[ARGS]{}"),
        (
            "kimi_k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.tide:0<|tool_call_argument_begin|>\
             {\"port\": \"Looe\", \"days\": 3}<|tool_call_end|><|tool_call_begin|>functions.ping:1\
             <|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
        ),
    ] {
        assert_eq!(of("", name).calls(two_calls()).text(), text, "{name}");
    }
    assert_eq!(
        of("plamo3", "plamo3").thought("Hm.").call("ping", "{}").text(),
        "<|plamo:begin_think:plamo|>Hm.<|plamo:end_think:plamo|><|plamo:begin_tool_requests:plamo|>\
         <|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>ping<|plamo:end_tool_name:plamo|>\
         <|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>{}<|plamo:end_tool_arguments:plamo|>\
         <|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>"
    );
}

#[test]
fn native_ids_count_through_the_conversation() {
    let mut case = of("", "kimi_k2").calls(vec![call("tide", "{}"), call("ping", "{}"), call("ping", "{}")]);
    case.message.tool_calls[1].id = "functions.ping:12".to_owned();
    case.message.tool_calls[2].id = "call_8f".to_owned();
    let text = case.text();
    for id in ["functions.tide:0", "functions.ping:12", "functions.ping:2"] {
        assert!(text.contains(&format!("<|tool_call_begin|>{id}<|tool_call_argument_begin|>")), "{id} in {text}");
    }
    assert_eq!(of("", "kimi_k2").call("a:b", "{}").refused(), "tool_calls[0].name");
    assert_eq!(of("", "kimi_k2").call("functions.a", "{}").refused(), "tool_calls[0].name");
}

#[test]
fn a_call_needs_tools_and_leave() {
    let case = of("", "deepseek_v31").calls(two_calls());
    for fields in [json!({"tools": []}), json!({"tool_choice": "none"}), json!({"parallel_tool_calls": false})] {
        assert_eq!(case.clone().with(fields).refused(), "tool_calls");
    }
    assert_eq!(of("qwen3", "").call("ping", "{}").refused(), "tool_calls");
}
