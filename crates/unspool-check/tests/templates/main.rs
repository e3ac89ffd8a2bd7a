//! The chat templates of many models against the parsers that belong to them. `.ci/fetch-templates` fetches the templates;
//! without them the test says that it is skipped.
#![allow(clippy::expect_used, clippy::print_stderr)]

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use unspool::{Checkpoint, Half, Pair, Registry, Setup};
use unspool_check::template::{Finding, Subject, Verdict, diff, prompter};

use Expected::{Differs, Fits, NoParser};

/// What comes of a template.
enum Expected {
    /// It writes what its parsers read.
    Fits,
    /// What differs, and why.
    Differs(&'static [&'static str], &'static str),
    /// No format here reads what its model writes.
    NoParser,
}

/// Calls of all kinds.
const CALLS: &[&str] =
    &["a call", "text and a call", "two calls", "a call without arguments", "a call with odd arguments"];

const TEMPLATES: [(&str, Expected); 97] = [
    ("llama-cpp-python/Apertus-8B-Instruct.jinja", Fits),
    ("llama-cpp-python/Apriel-1.6-15b-Thinker-fixed.jinja", NoParser),
    ("llama-cpp-python/Bielik-11B-v3.0-Instruct.jinja", Fits),
    ("llama-cpp-python/ByteDance-Seed-OSS.jinja", Fits),
    ("llama-cpp-python/Cohere2MoE.jinja", Fits),
    (
        "llama-cpp-python/CohereForAI-c4ai-command-r-plus-tool_use.jinja",
        Differs(
            &[
                "tools in the prompt",
                "an answer",
                "a call",
                "text and a call",
                "two calls",
                "a call without arguments",
                "a call with odd arguments",
                "an answer after a result",
            ],
            "asks objects for `additionalProperties.type`, and fails where a schema has none",
        ),
    ),
    ("llama-cpp-python/CohereForAI-c4ai-command-r7b-12-2024-tool_use.jinja", Fits),
    ("llama-cpp-python/GLM-4.6.jinja", Fits),
    ("llama-cpp-python/GLM-4.7-Flash.jinja", Fits),
    ("llama-cpp-python/GigaChat3-10B-A1.8B.jinja", Fits),
    ("llama-cpp-python/GigaChat3.1-10B-A1.8B.jinja", Fits),
    ("llama-cpp-python/HuggingFaceTB-SmolLM3-3B.jinja", Fits),
    (
        "llama-cpp-python/Kimi-K2-Instruct.jinja",
        Differs(
            &[
                "a call",
                "text and a call",
                "two calls",
                "a call without arguments",
                "a call with odd arguments",
                "an answer after a result",
            ],
            "appends to a list, which Python's sandbox refuses too",
        ),
    ),
    (
        "llama-cpp-python/Kimi-K2-Thinking.jinja",
        Differs(
            &[
                "a call",
                "a thought and a call",
                "text and a call",
                "two calls",
                "a call without arguments",
                "a call with odd arguments",
                "an answer after a result",
            ],
            "appends to a list, which Python's sandbox refuses too",
        ),
    ),
    ("llama-cpp-python/Kimi-K3.jinja", Fits),
    ("llama-cpp-python/LFM2-8B-A1B.jinja", Fits),
    ("llama-cpp-python/LFM2.5-8B-A1B.jinja", Fits),
    ("llama-cpp-python/LFM2.5-Instruct.jinja", NoParser),
    ("llama-cpp-python/MiMo-VL.jinja", Fits),
    ("llama-cpp-python/MiniMax-M1.jinja", NoParser),
    ("llama-cpp-python/MiniMax-M2.jinja", Fits),
    ("llama-cpp-python/MiniMax-M3.jinja", Fits),
    ("llama-cpp-python/Mistral-Small-3.2-24B-Instruct-2506.jinja", Fits),
    ("llama-cpp-python/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.jinja", Fits),
    ("llama-cpp-python/NVIDIA-Nemotron-Nano-v2.jinja", Fits),
    ("llama-cpp-python/NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja", Fits),
    ("llama-cpp-python/NousResearch-Hermes-3-Llama-3.1-8B-tool_use.jinja", Fits),
    ("llama-cpp-python/Qwen-QwQ-32B.jinja", Fits),
    ("llama-cpp-python/Qwen-Qwen2.5-7B-Instruct.jinja", Fits),
    ("llama-cpp-python/Qwen-Qwen3-0.6B.jinja", Fits),
    ("llama-cpp-python/Qwen3-Coder.jinja", Fits),
    ("llama-cpp-python/Qwen3.5-4B.jinja", Fits),
    ("llama-cpp-python/Reka-Edge.jinja", NoParser),
    ("llama-cpp-python/Spark2.5.jinja", Fits),
    ("llama-cpp-python/StepFun3.5-Flash.jinja", Fits),
    (
        "llama-cpp-python/deepseek-ai-DeepSeek-R1-Distill-Llama-8B.jinja",
        Differs(&["tools in the prompt"], "knows nothing of tools"),
    ),
    (
        "llama-cpp-python/deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja",
        Differs(&["tools in the prompt"], "shows calls in the history, but no tools"),
    ),
    (
        "llama-cpp-python/deepseek-ai-DeepSeek-V3.1.jinja",
        Differs(&["tools in the prompt"], "shows no tools; whoever serves it puts them into a system message"),
    ),
    ("llama-cpp-python/deepseek-ai-DeepSeek-V3.2.jinja", Fits),
    ("llama-cpp-python/deepseek-ai-DeepSeek-V4-Flash-0731.jinja", Fits),
    ("llama-cpp-python/deepseek-ai-DeepSeek-V4.jinja", Fits),
    ("llama-cpp-python/fireworks-ai-llama-3-firefunction-v2.jinja", NoParser),
    ("llama-cpp-python/google-gemma-2-2b-it.jinja", NoParser),
    ("llama-cpp-python/google-gemma-4-31B-it-interleaved.jinja", Fits),
    ("llama-cpp-python/google-gemma-4-31B-it.jinja", Fits),
    ("llama-cpp-python/ibm-granite-granite-3.3-2B-Instruct.jinja", Fits),
    ("llama-cpp-python/ibm-granite-granite-4.0.jinja", Fits),
    ("llama-cpp-python/ibm-granite-granite-4.1.jinja", Fits),
    ("llama-cpp-python/inclusionai-ling-3.0-flash.jinja", Fits),
    ("llama-cpp-python/llama-cpp-deepseek-r1.jinja", Fits),
    ("llama-cpp-python/llama-cpp-rwkv-world.jinja", NoParser),
    ("llama-cpp-python/meetkai-functionary-medium-v3.1.jinja", Fits),
    ("llama-cpp-python/meetkai-functionary-medium-v3.2.jinja", NoParser),
    ("llama-cpp-python/meta-llama-Llama-3.1-8B-Instruct.jinja", Fits),
    ("llama-cpp-python/meta-llama-Llama-3.2-3B-Instruct.jinja", Fits),
    ("llama-cpp-python/meta-llama-Llama-3.3-70B-Instruct.jinja", Fits),
    ("llama-cpp-python/microsoft-Phi-3.5-mini-instruct.jinja", NoParser),
    ("llama-cpp-python/mistralai-Ministral-3-14B-Reasoning-2512.jinja", Fits),
    ("llama-cpp-python/mistralai-Mistral-Nemo-Instruct-2407.jinja", Fits),
    (
        "llama-cpp-python/moonshotai-Kimi-K2.jinja",
        Differs(CALLS, "reads content as parts, but prints it as it is beside calls"),
    ),
    ("llama-cpp-python/muse-glimmer.jinja", Fits),
    (
        "llama-cpp-python/openai-gpt-oss-120b.jinja",
        Differs(&["text and a call"], "writes text beside a call as a thought"),
    ),
    ("llama-cpp-python/openbmb-MiniCPM5-1B.jinja", Fits),
    (
        "llama-cpp-python/poolside-Laguna-S-2.1.jinja",
        Differs(&["the beginning of a reply"], "thinks unless told not to; the parser thinks if told to"),
    ),
    ("llama-cpp-python/poolside-Laguna-XS-2.1.jinja", Fits),
    ("llama-cpp-python/poolside-Laguna-XS.2.jinja", Fits),
    (
        "llama-cpp-python/tencent-Hy3.jinja",
        Differs(
            &[
                "a call",
                "a thought and a call",
                "text and a call",
                "two calls",
                "a call without arguments",
                "a call with odd arguments",
            ],
            "its marks end in a suffix that the tokenizer config names",
        ),
    ),
    ("llama-cpp-python/unsloth-Apriel-1.5.jinja", NoParser),
    ("llama-cpp-python/unsloth-mistral-Devstral-Small-2507.jinja", Fits),
    ("llama-cpp-python/upstage-Solar-Open-100B.jinja", NoParser),
    ("vllm/tool_chat_template_apertus.jinja", Fits),
    ("vllm/tool_chat_template_deepseekr1.jinja", Fits),
    ("vllm/tool_chat_template_deepseekv3.jinja", Fits),
    ("vllm/tool_chat_template_deepseekv31.jinja", Fits),
    ("vllm/tool_chat_template_functiongemma.jinja", Fits),
    (
        "vllm/tool_chat_template_gemma3_pythonic.jinja",
        Differs(&["two calls", "a call with odd arguments"], "writes no comma between arguments"),
    ),
    ("vllm/tool_chat_template_gemma4.jinja", Fits),
    ("vllm/tool_chat_template_glm4.jinja", NoParser),
    ("vllm/tool_chat_template_granite.jinja", Fits),
    ("vllm/tool_chat_template_granite_20b_fc.jinja", Fits),
    ("vllm/tool_chat_template_hermes.jinja", Fits),
    (
        "vllm/tool_chat_template_hunyuan_a13b.jinja",
        Differs(
            &["an answer", "a thought and an answer", "an answer after a result"],
            "writes a word in front of answers that the parser takes for text",
        ),
    ),
    ("vllm/tool_chat_template_internlm2_tool.jinja", Fits),
    ("vllm/tool_chat_template_llama3.1_json.jinja", Fits),
    ("vllm/tool_chat_template_llama3.2_json.jinja", Fits),
    (
        "vllm/tool_chat_template_llama3.2_pythonic.jinja",
        Differs(
            &["a call", "text and a call", "two calls", "a call with odd arguments"],
            "writes texts without quotes",
        ),
    ),
    ("vllm/tool_chat_template_llama4_json.jinja", Fits),
    (
        "vllm/tool_chat_template_llama4_pythonic.jinja",
        Differs(
            &["text and a call", "two calls", "a call with odd arguments"],
            "quotes every value, and writes text in front of calls, where they do not count",
        ),
    ),
    ("vllm/tool_chat_template_mistral.jinja", Fits),
    ("vllm/tool_chat_template_mistral3.jinja", Fits),
    ("vllm/tool_chat_template_mistral_parallel.jinja", Fits),
    ("vllm/tool_chat_template_muse_glimmer.jinja", Fits),
    (
        "vllm/tool_chat_template_phi4_mini.jinja",
        Differs(
            &["a call", "two calls", "a call without arguments", "a call with odd arguments"],
            "writes arguments as Python does",
        ),
    ),
    ("vllm/tool_chat_template_qwen3coder.jinja", Fits),
    (
        "vllm/tool_chat_template_toolace.jinja",
        Differs(
            &["a call", "text and a call", "two calls", "a call with odd arguments"],
            "writes texts without quotes",
        ),
    ),
    ("vllm/tool_chat_template_xlam_llama.jinja", Fits),
    ("vllm/tool_chat_template_xlam_qwen.jinja", Fits),
];

fn folder() -> Option<PathBuf> {
    let fetched = std::env::var_os("UNSPOOL_TEMPLATES").map(PathBuf::from);
    let folder = fetched.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("templates"));
    if folder.join("vllm").is_dir() {
        return Some(folder);
    }
    assert!(std::env::var_os("UNSPOOL_REQUIRE_TEMPLATES").is_none(), "no templates in {}", folder.display());
    eprintln!("!!! SKIPPED: no templates in {}; `.ci/fetch-templates` fetches them", folder.display());
    None
}

fn read(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The names that the template speaks for.
fn setup(template: &str) -> Setup {
    let checkpoint = Checkpoint { template: Some(template), ..Checkpoint::default() };
    let name = |half| Registry::builtin().detect(half, &checkpoint).ok().map(|found| found.name);
    let tokenizer_config = json!({"chat_template": template});
    Setup {
        reasoning_parser: name(Half::Reasoning),
        tool_parser: name(Half::Tools),
        tokenizer_config,
        ..Setup::default()
    }
}

fn pair(setup: &Setup) -> Pair {
    Registry::builtin().pair(setup).expect("the names are known")
}

fn findings(template: &str, setup: &Setup) -> Vec<Finding> {
    let prompter = prompter(template, Map::new()).expect("it is Jinja");
    let (reasoning, tools) = (setup.reasoning_parser.is_some(), setup.tool_parser.is_some());
    Subject { prompter: &prompter, pair: &pair(setup), reasoning, tools }.findings()
}

fn differing(findings: &[Finding]) -> Vec<&str> {
    findings.iter().filter(|one| one.verdict == Verdict::Differs).map(|one| one.check.as_str()).collect()
}

#[test]
fn templates_are_held_against_their_parsers() {
    let Some(folder) = folder() else { return };
    let mut faults = Vec::new();
    for (file, expected) in &TEMPLATES {
        let text = read(&folder, file);
        let setup = setup(&text);
        if setup.reasoning_parser.is_none() && setup.tool_parser.is_none() {
            if !matches!(expected, NoParser) {
                faults.push(format!("{file}: no parser is told"));
            }
            continue;
        }
        let findings = findings(&text, &setup);
        let differing = differing(&findings);
        let (wanted, why): (&[&str], _) = match expected {
            Fits => (&[], "it fits"),
            Differs(what, why) => (what, *why),
            NoParser => (&["a parser is told"], "no parser is right for it"),
        };
        if differing != wanted {
            let told: Vec<String> = findings.iter().map(|one| format!("  {}: {}", one.check, one.message)).collect();
            faults.push(format!("{file} ({why}): {differing:?}, not {wanted:?}\n{}", told.join("\n")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let fit = TEMPLATES.iter().filter(|(_, expected)| matches!(expected, Fits)).count();
    eprintln!("{fit} of {} templates fit their parsers", TEMPLATES.len());
    let listed = |source: &str| std::fs::read_dir(folder.join(source)).into_iter().flatten().count();
    assert_eq!(TEMPLATES.len(), listed("vllm") + listed("llama-cpp-python"), "every template is in the table");
}

#[test]
fn a_suffix_of_the_marks_comes_from_the_tokenizer_config() {
    let Some(folder) = folder() else { return };
    let text = read(&folder, "llama-cpp-python/tencent-Hy3.jinja");
    let tokenizer_config = json!({"token_suffix": ":opensource", "chat_template": text});
    let findings = findings(&text, &Setup { tokenizer_config, ..setup(&text) });
    assert!(differing(&findings).is_empty(), "{findings:#?}");
}

#[test]
fn the_template_of_another_family_is_found_out() {
    let Some(folder) = folder() else { return };
    // Some pairs read more than they write; these do not read each other.
    let others = ["hermes", "mistral", "deepseek_v31", "pythonic"];
    let calls = |name: &str| Registry::builtin().words(Half::Tools, name).map(|words| words.tools.call.0);
    let mut tried = 0;
    for (file, expected) in &TEMPLATES {
        let text = read(&folder, file);
        let own = Setup { reasoning_parser: None, ..setup(&text) };
        let (Fits, Some(tools)) = (expected, &own.tool_parser) else { continue };
        let written = calls(tools).expect("the name is known");
        for other in others {
            let read = calls(other).expect("the name is known");
            if written.iter().any(|call| read.contains(call)) {
                continue;
            }
            let found = findings(&text, &Setup { tool_parser: Some(other.to_owned()), ..own.clone() });
            let silent = found.iter().any(|one| one.message.contains("leaves calls out"));
            assert!(silent || !differing(&found).is_empty(), "{file} fits {other}, not only {tools}");
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried} pairs were tried");
}

#[test]
fn two_templates_are_compared() {
    let template =
        |bar: &str| format!("{{% for m in messages %}}<{bar}{{{{ m.role }}}}{bar}>{{{{ m.content }}}}{{% endfor %}}");
    let made = |source: &str| prompter(source, Map::new()).expect("it is Jinja");
    let (plain, wide) = (made(&template("|")), made(&template("\u{ff5c}")));
    assert!(diff(&plain, &plain).iter().all(|one| one.same && one.differences.is_empty()));
    let told = serde_json::to_value(diff(&plain, &wide)).expect("it is JSON");
    let first = &told[0];
    assert_eq!(
        (&first["conversation"], &first["same"], &first["places"]),
        (&json!("a question"), &json!(false), &json!(2))
    );
    let place = &first["differences"][0];
    assert_eq!((&place["a"]["offset"], &place["a"]["line"]), (&json!(1), &json!(1)));
    assert_eq!(place["a"]["code_points"], json!(["`|` (U+007C)"]));
    assert_eq!(place["b"]["code_points"], json!(["`\u{ff5c}` (U+FF5C)"]));
    assert_eq!(place["b"]["around"], "<\u{ff5c}user\u{ff5c}>When is high w");
    let refusing = made("{{ raise_exception('never') }}");
    let told = diff(&plain, &refusing);
    assert_eq!(told[0].errors[1].as_deref(), Some("never"));
    assert!(told.iter().all(|one| !one.same && one.differences.is_empty()), "{told:?}");
}

#[test]
fn look_alikes_in_a_template_are_differences() {
    let template = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}<tool\u{2581}call>\n{}{% endfor %}{% endfor %}";
    let setup = Setup { tool_parser: Some("hermes".to_owned()), ..Setup::default() };
    let found = findings(template, &setup);
    let alike = found.iter().find(|one| one.check == "look-alike characters").expect("they are told");
    assert_eq!((alike.verdict, alike.line), (Verdict::Differs, Some(1)));
    assert!(alike.message.contains("`\u{2581}` (U+2581) stands for `_` (U+005F)"), "{}", alike.message);
    let kept: Value = serde_json::to_value(alike).expect("it is JSON");
    assert_eq!(kept["verdict"], "differs");
}
