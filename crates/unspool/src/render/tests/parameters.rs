use serde_json::json;

use super::{of, two_calls};

#[test]
fn parameters_stand_in_tags() {
    for (name, text) in [
        (
            "qwen3_coder",
            "<tool_call>\n<function=tide>\n<parameter=port>\nLooe\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>\n\
             <tool_call>\n<function=ping>\n</function>\n</tool_call>",
        ),
        (
            "mimo",
            "<tool_call>\n<function=tide>\n<parameter=port>Looe</parameter>\n<parameter=days>3</parameter>\n</function>\n</tool_call>\n\
             <tool_call>\n<function=ping>\n</function>\n</tool_call>",
        ),
        (
            "glm45",
            "<tool_call>tide\n<arg_key>port</arg_key>\n<arg_value>Looe</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n\
             <tool_call>ping\n</tool_call>",
        ),
        (
            "glm47",
            "<tool_call>tide<arg_key>port</arg_key><arg_value>Looe</arg_value><arg_key>days</arg_key><arg_value>3</arg_value></tool_call>\
             <tool_call>ping</tool_call>",
        ),
        (
            "hy_v3",
            "<tool_calls>\n<tool_call>tide<tool_sep>\n<arg_key>port</arg_key>\n<arg_value>Looe</arg_value>\n\
             <arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n<tool_call>ping<tool_sep>\n</tool_call>\n</tool_calls>",
        ),
        (
            "minimax_m2",
            "<minimax:tool_call>\n<invoke name=\"tide\">\n<parameter name=\"port\">Looe</parameter>\n\
             <parameter name=\"days\">3</parameter>\n</invoke>\n<invoke name=\"ping\">\n</invoke>\n</minimax:tool_call>",
        ),
        (
            "dots",
            "<dots_function_call>\n<invoke name=\"tide\">\n<parameter name=\"port\">Looe</parameter>\n\
             <parameter name=\"days\">3</parameter>\n</invoke>\n<invoke name=\"ping\">\n</invoke>\n</dots_function_call>",
        ),
        (
            "minicpm5",
            "<function name=\"tide\"><param name=\"port\">Looe</param><param name=\"days\">3</param></function><function name=\"ping\"></function>",
        ),
        (
            "k2_horizon",
            "<ifm|tool_calls>\n<ifm|tool_call>tide\n<ifm|arg_key>port</ifm|arg_key><ifm|arg_value>Looe</ifm|arg_value>\n\
             <ifm|arg_key>days</ifm|arg_key><ifm|arg_value>3</ifm|arg_value>\n</ifm|tool_call>\n<ifm|tool_call>ping\n</ifm|tool_call>\n</ifm|tool_calls>",
        ),
        (
            "step3",
            "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"tide\">\
             <steptml:parameter name=\"port\">Looe</steptml:parameter><steptml:parameter name=\"days\">3</steptml:parameter>\
             </steptml:invoke><｜tool_call_end｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"ping\">\
             </steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
        ),
    ] {
        assert_eq!(of("", name).calls(two_calls()).text(), text, "{name}");
    }
}

#[test]
fn tags_may_say_the_type_of_a_value() {
    let arguments =
        r#"{"port": "5", "days": 3, "wet": true, "note": null, "marks": ["a"], "boat": {"name": "Gannet"}}"#;
    assert_eq!(
        of("", "deepseek_v4").call("tide", arguments).text(),
        "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"tide\">\n\
         <｜DSML｜parameter name=\"port\" string=\"true\">5</｜DSML｜parameter>\n\
         <｜DSML｜parameter name=\"days\" string=\"false\">3</｜DSML｜parameter>\n\
         <｜DSML｜parameter name=\"wet\" string=\"false\">true</｜DSML｜parameter>\n\
         <｜DSML｜parameter name=\"note\" string=\"false\">null</｜DSML｜parameter>\n\
         <｜DSML｜parameter name=\"marks\" string=\"false\">[\"a\"]</｜DSML｜parameter>\n\
         <｜DSML｜parameter name=\"boat\" string=\"false\">{\"name\": \"Gannet\"}</｜DSML｜parameter>\n\
         </｜DSML｜invoke>\n</｜DSML｜tool_calls>"
    );
    assert_eq!(
        of("", "kimi_k3").call("tide", r#"{"port": "5", "a&b": 3}"#).text(),
        "<|open|>think<|sep|><|close|>think<|sep|><|open|>tools<|sep|><|open|>call tool=\"tide\" index=\"1\"<|sep|>\
         <|open|>argument key=\"port\" type=\"string\"<|sep|>5<|close|>argument<|sep|>\
         <|open|>argument key=\"a&amp;b\" type=\"number\"<|sep|>3<|close|>argument<|sep|>\
         <|close|>call<|sep|><|close|>tools<|sep|>"
    );
    let typed = json!({"chat_template_kwargs": {"tool_call_format": "xml_typed"}});
    assert_eq!(
        of("", "k2_horizon").call("tide", r#"{"days": 3}"#).with(typed).text(),
        "<ifm|tool_calls>\n<ifm|tool_call>tide\n<ifm|arg_key>days</ifm|arg_key><ifm|arg_type>number</ifm|arg_type>\
         <ifm|arg_value>3</ifm|arg_value>\n</ifm|tool_call>\n</ifm|tool_calls>"
    );
}

#[test]
fn strings_stand_as_they_are_and_other_values_as_json() {
    let arguments = r#"{"port": "\nA \"quay\"\n\n", "marks": ["x", "y"], "boat": {"feet": 0.50}}"#;
    assert_eq!(
        of("", "qwen3_coder").call("tide", arguments).text(),
        "<tool_call>\n<function=tide>\n<parameter=port>\n\nA \"quay\"\n\n\n</parameter>\n<parameter=marks>\n[\"x\", \"y\"]\n</parameter>\n\
         <parameter=boat>\n{\"feet\": 0.50}\n</parameter>\n</function>\n</tool_call>"
    );
}

#[test]
fn entities_are_written_where_the_format_reads_them() {
    assert_eq!(
        of("", "minicpm5").call("tide", r#"{"port": "</param></function> & more"}"#).text(),
        "<function name=\"tide\"><param name=\"port\">&lt;/param&gt;&lt;/function&gt; &amp; more</param></function>"
    );
}

#[test]
fn a_block_is_written_once_for_all_calls_or_once_for_each() {
    let thought = "<think>Hm.</think>";
    assert_eq!(
        of("deepseek_v4", "deepseek_v4").thought("Hm.").call("ping", "{}").text(),
        format!(
            "{thought}\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"ping\">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>"
        )
    );
    assert_eq!(of("", "qwen3_coder").calls(two_calls()).text().matches("<tool_call>\n<function=").count(), 2);
    assert_eq!(of("", "minimax_m2").calls(two_calls()).text().matches("<minimax:tool_call>").count(), 1);
}
