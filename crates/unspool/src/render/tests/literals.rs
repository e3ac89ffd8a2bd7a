use super::{of, two_calls};

#[test]
fn python_keywords() {
    let arguments = r#"{"port": "It's \"Looe\"", "wet": true, "note": null, "marks": ["a"], "boat": {"feet": -1.5}}"#;
    assert_eq!(
        of("", "pythonic").call("tide", arguments).text(),
        r#"[tide(port='It\'s "Looe"', wet=True, note=None, marks=['a'], boat={'feet': -1.5})]"#
    );
    assert_eq!(of("", "llama4_pythonic").calls(two_calls()).text(), "[tide(port='Looe', days=3), ping()]");
    assert_eq!(
        of("", "olmo3").answer("Sure.").calls(two_calls()).text(),
        "Sure.<function_calls>\ntide(port='Looe', days=3)\nping()\n</function_calls>"
    );
    assert_eq!(
        of("", "lfm2").calls(two_calls()).text(),
        "<|tool_call_start|>[tide(port='Looe', days=3), ping()]<|tool_call_end|>"
    );
}

#[test]
fn gemma_literals() {
    let arguments =
        r#"{"port": "Looe", "days": 3, "wet": true, "note": null, "marks": ["a", "b"], "boat": {"name": "Gannet"}}"#;
    assert_eq!(
        of("", "gemma4").call("tide", arguments).text(),
        "<|tool_call>call:tide{port:<|\"|>Looe<|\"|>,days:3,wet:true,note:null,marks:[<|\"|>a<|\"|>,<|\"|>b<|\"|>],\
         boat:{name:<|\"|>Gannet<|\"|>}}<tool_call|>"
    );
    assert_eq!(
        of("", "functiongemma").call("tide", r#"{"port": "Looe", "days": 3, "marks": ["a"]}"#).text(),
        "<start_function_call>call:tide{port:<escape>Looe<escape>,days:<escape>3<escape>,marks:<escape>[\"a\"]<escape>}\
         <end_function_call>"
    );
}

#[test]
fn nested_elements() {
    let arguments =
        r#"{"port": "</invoke> it", "days": 3, "marks": ["a", "b"], "boat": {"name": "Gannet", "feet": 0.50}}"#;
    let ns = "]<]minimax[>[";
    assert_eq!(
        of("", "minimax_m3").call("tide", arguments).text(),
        format!(
            "{ns}<tool_call>\n{ns}<invoke name=\"tide\">{ns}<port></invoke> it{ns}</port>{ns}<days>3{ns}</days>\
             {ns}<marks>{ns}<item>a{ns}</item>{ns}<item>b{ns}</item>{ns}</marks>\
             {ns}<boat>{ns}<name>Gannet{ns}</name>{ns}<feet>0.50{ns}</feet>{ns}</boat>{ns}</invoke>\n{ns}</tool_call>"
        )
    );
}
