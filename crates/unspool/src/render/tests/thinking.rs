use serde_json::json;

use super::of;

#[test]
fn a_thought_stands_between_its_markers_and_their_white_space() {
    for (name, text) in [
        ("qwen3", "<think>\nTwo keels.\n</think>\n\nBook it."),
        ("mimo", "<think>\nTwo keels.\n</think>\n\nBook it."),
        ("deepseek_r1", "<think>\nTwo keels.\n</think>\n\nBook it."),
        ("holo2", "<think>\nTwo keels.\n</think>\n\nBook it."),
        ("deepseek_v4", "<think>Two keels.</think>Book it."),
        ("glm47", "<think>Two keels.</think>Book it."),
        ("glm45", "<think>Two keels.</think>\nBook it."),
        ("kimi_k2", "<think>Two keels.</think>Book it."),
        ("olmo3", "<think>Two keels.</think>Book it."),
        ("hy_v4", "<think>Two keels.</think>Book it."),
        ("minimax_m2", "<think>\nTwo keels.\n</think>\n\nBook it."),
        ("minimax_m3", "<mm:think>Two keels.</mm:think>Book it."),
        ("mistral", "[THINK]Two keels.[/THINK]Book it."),
        ("seed_oss", "<seed:think>\nTwo keels.\n</seed:think>\nBook it."),
        ("gemma4", "<|channel>thought\nTwo keels.\n<channel|>Book it."),
        ("granite", "Here is my thought process:Two keels.Here is my response:Book it."),
        ("plamo3", "<|plamo:begin_think:plamo|>Two keels.<|plamo:end_think:plamo|>Book it."),
        ("k2_horizon", "<ifm|think>Two keels.</ifm|think>Book it."),
        ("ernie45", "<think>\nTwo keels.\n</think>\n\n<response>\nBook it.\n</response>\n"),
        ("hunyuan_a13b", "<think>\nTwo keels.\n</think>\n<answer>\nBook it.\n</answer>"),
        ("cohere_command3", "<|START_THINKING|>Two keels.<|END_THINKING|><|START_RESPONSE|>Book it.<|END_RESPONSE|>"),
        ("cohere_command4", "<|START_THINKING|>Two keels.<|END_THINKING|><|START_TEXT|>Book it.<|END_TEXT|>"),
        (
            "kimi_k3",
            "<|open|>think<|sep|>Two keels.<|close|>think<|sep|><|open|>response<|sep|>Book it.<|close|>response<|sep|>",
        ),
        (
            "inkling",
            "<|content_thinking|>Two keels.<|end_message|><|message_model|><|content_text|>Book it.<|end_message|>",
        ),
    ] {
        assert_eq!(of(name, "").thought("Two keels.").answer("Book it.").text(), text, "{name}");
    }
}

#[test]
fn only_the_prompt_writes_the_opener_of_some_formats() {
    assert_eq!(of("step3", "").thought("Two keels.").answer("Book it.").text(), "Two keels.\n</think>\n\nBook it.");
    assert_eq!(of("step3", "").answer("Book it.").text(), "\n</think>\n\nBook it.");
    assert_eq!(of("step3", "").thought("\nTwo keels.").text(), "Two keels.\n</think>\n\n");
}

#[test]
fn a_reply_that_begins_in_a_thought_closes_an_empty_one() {
    assert_eq!(of("qwen3", "").answer("Book it.").text(), "<think>\n\n</think>\n\nBook it.");
    assert_eq!(of("kimi_k2", "").answer("Book it.").text(), "<think></think>Book it.");
    assert_eq!(of("mistral", "").answer("Book it.").text(), "Book it.");
    assert_eq!(of("inkling", "").answer("Book it.").text(), "<|content_text|>Book it.<|end_message|>");
    assert_eq!(of("qwen3", "").text(), "");
}

#[test]
fn a_thought_alone_is_closed() {
    assert_eq!(of("qwen3", "").thought("Two keels.").text(), "<think>\nTwo keels.\n</think>\n\n");
}

#[test]
fn switched_off_thinking_is_plain_or_marked() {
    let off = json!({"chat_template_kwargs": {"enable_thinking": false}});
    assert_eq!(of("qwen3", "").answer("Say <think>.").with(off.clone()).text(), "Say <think>.");
    assert_eq!(of("qwen3", "").thought("Two keels.").with(off.clone()).refused(), "reasoning");
    assert_eq!(of("deepseek_v4", "").answer("Book it.").with(off.clone()).text(), "Book it.");
    assert_eq!(of("deepseek_v4", "").thought("Hm.").answer("Book it.").with(off).text(), "<think>Hm.</think>Book it.");
    assert_eq!(of("hy_v3", "").thought("Hm.").refused(), "reasoning");
    let high = json!({"reasoning_effort": "high"});
    assert_eq!(of("hy_v3", "").thought("Hm.").answer("Book it.").with(high).text(), "<think>Hm.</think>Book it.");
}

#[test]
fn a_variant_may_depend_on_the_request() {
    let medium = json!({"chat_template_kwargs": {"reasoning_effort": "medium"}});
    assert_eq!(of("k2_horizon", "").thought("Hm.").with(medium).text(), "<ifm|think_fast>Hm.</ifm|think_fast>");
    let on = json!({"chat_template_kwargs": {"thinking_mode": "enabled"}});
    assert_eq!(of("minimax_m3", "").answer("Book it.").with(on).text(), "<mm:think></mm:think>Book it.");
}

#[test]
fn thoughts_that_are_content_begin_behind_the_opener_of_the_prompt() {
    let case = of("minimax_m2_append_think", "");
    assert_eq!(case.clone().answer("<think>Damp.</think>Seven.").text(), "Damp.</think>Seven.");
    assert_eq!(case.clone().answer("Seven.").refused(), "content");
    assert_eq!(case.thought("Damp.").answer("<think>Seven.").refused(), "reasoning");
}

#[test]
fn a_thought_that_the_request_filters_or_moves_is_refused() {
    let hidden = json!({"include_reasoning": false});
    assert_eq!(of("qwen3", "").thought("Hm.").answer("Seven.").with(hidden).refused(), "reasoning");
    let moved = json!({"chat_template_kwargs": {"force_nonempty_content": true}});
    assert_eq!(of("nemotron_v3", "").thought("Hm.").with(moved.clone()).refused(), "reasoning");
    assert_eq!(
        of("nemotron_v3", "").thought("Hm.").answer("Seven.").with(moved).text(),
        "<think>\nHm.\n</think>\n\nSeven."
    );
    assert_eq!(of("", "hermes").thought("Hm.").refused(), "reasoning");
}
