//! Detects a checkpoint's format from its own files. The chat templates of many models, from `.ci/fetch-templates`, must
//! never be taken for another format's; without them the test reports that it is skipped.
#![allow(clippy::expect_used, clippy::print_stderr)]

use std::path::{Path, PathBuf};

use unspool::ErrorKind;
use unspool::{Checkpoint, Half, Registry};

/// Each template, and the names that are right for it. `-`: its model writes nothing of the kind, or in a way that no format
/// here knows, so the only right answer is to refuse.
const EXPECTED: [(&str, &str, &str); 97] = [
    ("llama-cpp-python/Apertus-8B-Instruct.jinja", "apertus", "apertus"),
    ("llama-cpp-python/Apriel-1.6-15b-Thinker-fixed.jinja", "-", "-"),
    ("llama-cpp-python/Bielik-11B-v3.0-Instruct.jinja", "-", "hermes"),
    ("llama-cpp-python/ByteDance-Seed-OSS.jinja", "seed_oss", "seed_oss"),
    ("llama-cpp-python/Cohere2MoE.jinja", "cohere_command4", "cohere_command4"),
    ("llama-cpp-python/CohereForAI-c4ai-command-r-plus-tool_use.jinja", "-", "command_r"),
    ("llama-cpp-python/CohereForAI-c4ai-command-r7b-12-2024-tool_use.jinja", "cohere_command3", "cohere_command3"),
    ("llama-cpp-python/GLM-4.6.jinja", "glm45", "glm45"),
    ("llama-cpp-python/GLM-4.7-Flash.jinja", "glm47", "glm47"),
    ("llama-cpp-python/GigaChat3-10B-A1.8B.jinja", "-", "gigachat3"),
    ("llama-cpp-python/GigaChat3.1-10B-A1.8B.jinja", "-", "gigachat3"),
    ("llama-cpp-python/HuggingFaceTB-SmolLM3-3B.jinja", "smollm3", "-"),
    ("llama-cpp-python/Kimi-K2-Instruct.jinja", "-", "kimi_k2"),
    ("llama-cpp-python/Kimi-K2-Thinking.jinja", "kimi_k2", "kimi_k2"),
    ("llama-cpp-python/Kimi-K3.jinja", "kimi_k3", "kimi_k3"),
    ("llama-cpp-python/LFM2-8B-A1B.jinja", "-", "lfm2"),
    ("llama-cpp-python/LFM2.5-8B-A1B.jinja", "-", "lfm2"),
    ("llama-cpp-python/LFM2.5-Instruct.jinja", "-", "-"),
    ("llama-cpp-python/MiMo-VL.jinja", "-", "hermes"),
    ("llama-cpp-python/MiniMax-M1.jinja", "-", "-"),
    ("llama-cpp-python/MiniMax-M2.jinja", "minimax_m2", "minimax_m2"),
    ("llama-cpp-python/MiniMax-M3.jinja", "minimax_m3", "minimax_m3"),
    ("llama-cpp-python/Mistral-Small-3.2-24B-Instruct-2506.jinja", "-", "mistral"),
    ("llama-cpp-python/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.jinja", "nemotron_v3", "qwen3_coder"),
    ("llama-cpp-python/NVIDIA-Nemotron-Nano-v2.jinja", "-", "nemotron"),
    ("llama-cpp-python/NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja", "-", "hermes"),
    ("llama-cpp-python/NousResearch-Hermes-3-Llama-3.1-8B-tool_use.jinja", "-", "hermes"),
    ("llama-cpp-python/Qwen-QwQ-32B.jinja", "deepseek_r1", "hermes"),
    ("llama-cpp-python/Qwen-Qwen2.5-7B-Instruct.jinja", "-", "hermes"),
    ("llama-cpp-python/Qwen-Qwen3-0.6B.jinja", "qwen3", "hermes"),
    ("llama-cpp-python/Qwen3-Coder.jinja", "-", "qwen3_coder"),
    ("llama-cpp-python/Qwen3.5-4B.jinja", "qwen3", "qwen3_coder"),
    ("llama-cpp-python/Reka-Edge.jinja", "-", "-"),
    ("llama-cpp-python/Spark2.5.jinja", "spark25", "spark25"),
    ("llama-cpp-python/StepFun3.5-Flash.jinja", "step3p5", "step3p5"),
    ("llama-cpp-python/deepseek-ai-DeepSeek-R1-Distill-Llama-8B.jinja", "deepseek_r1", "deepseek_v3"),
    ("llama-cpp-python/deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja", "deepseek_r1", "deepseek_v3"),
    ("llama-cpp-python/deepseek-ai-DeepSeek-V3.1.jinja", "deepseek_v3", "deepseek_v31"),
    ("llama-cpp-python/deepseek-ai-DeepSeek-V3.2.jinja", "deepseek_v3", "deepseek_v32"),
    ("llama-cpp-python/deepseek-ai-DeepSeek-V4-Flash-0731.jinja", "deepseek_v4", "deepseek_v4"),
    ("llama-cpp-python/deepseek-ai-DeepSeek-V4.jinja", "deepseek_v4", "deepseek_v4"),
    ("llama-cpp-python/fireworks-ai-llama-3-firefunction-v2.jinja", "-", "-"),
    ("llama-cpp-python/google-gemma-2-2b-it.jinja", "-", "-"),
    ("llama-cpp-python/google-gemma-4-31B-it-interleaved.jinja", "gemma4", "gemma4"),
    ("llama-cpp-python/google-gemma-4-31B-it.jinja", "gemma4", "gemma4"),
    ("llama-cpp-python/ibm-granite-granite-3.3-2B-Instruct.jinja", "-", "granite"),
    ("llama-cpp-python/ibm-granite-granite-4.0.jinja", "-", "granite4"),
    ("llama-cpp-python/ibm-granite-granite-4.1.jinja", "-", "granite4"),
    ("llama-cpp-python/inclusionai-ling-3.0-flash.jinja", "ling3", "ling3"),
    ("llama-cpp-python/llama-cpp-deepseek-r1.jinja", "deepseek_r1", "deepseek_v3"),
    ("llama-cpp-python/llama-cpp-rwkv-world.jinja", "-", "-"),
    ("llama-cpp-python/meetkai-functionary-medium-v3.1.jinja", "-", "functionary_v31"),
    ("llama-cpp-python/meetkai-functionary-medium-v3.2.jinja", "-", "-"),
    ("llama-cpp-python/meta-llama-Llama-3.1-8B-Instruct.jinja", "-", "llama3_json"),
    ("llama-cpp-python/meta-llama-Llama-3.2-3B-Instruct.jinja", "-", "llama3_json"),
    ("llama-cpp-python/meta-llama-Llama-3.3-70B-Instruct.jinja", "-", "llama3_json"),
    ("llama-cpp-python/microsoft-Phi-3.5-mini-instruct.jinja", "-", "-"),
    ("llama-cpp-python/mistralai-Ministral-3-14B-Reasoning-2512.jinja", "mistral", "mistral"),
    ("llama-cpp-python/mistralai-Mistral-Nemo-Instruct-2407.jinja", "-", "mistral"),
    ("llama-cpp-python/moonshotai-Kimi-K2.jinja", "-", "kimi_k2"),
    ("llama-cpp-python/muse-glimmer.jinja", "muse_glimmer", "muse_glimmer"),
    ("llama-cpp-python/openai-gpt-oss-120b.jinja", "openai_gptoss", "openai"),
    ("llama-cpp-python/openbmb-MiniCPM5-1B.jinja", "-", "minicpm5"),
    ("llama-cpp-python/poolside-Laguna-S-2.1.jinja", "poolside_v1", "poolside_v1"),
    ("llama-cpp-python/poolside-Laguna-XS-2.1.jinja", "poolside_v1", "poolside_v1"),
    ("llama-cpp-python/poolside-Laguna-XS.2.jinja", "poolside_v1", "poolside_v1"),
    ("llama-cpp-python/tencent-Hy3.jinja", "hy_v3", "hy_v3"),
    ("llama-cpp-python/unsloth-Apriel-1.5.jinja", "-", "-"),
    ("llama-cpp-python/unsloth-mistral-Devstral-Small-2507.jinja", "-", "mistral"),
    ("llama-cpp-python/upstage-Solar-Open-100B.jinja", "-", "-"),
    ("vllm/tool_chat_template_apertus.jinja", "apertus", "apertus"),
    ("vllm/tool_chat_template_deepseekr1.jinja", "-", "deepseek_v3"),
    ("vllm/tool_chat_template_deepseekv3.jinja", "-", "deepseek_v3"),
    ("vllm/tool_chat_template_deepseekv31.jinja", "deepseek_v3", "deepseek_v31"),
    ("vllm/tool_chat_template_functiongemma.jinja", "-", "functiongemma"),
    ("vllm/tool_chat_template_gemma3_pythonic.jinja", "-", "pythonic"),
    ("vllm/tool_chat_template_gemma4.jinja", "gemma4", "gemma4"),
    ("vllm/tool_chat_template_glm4.jinja", "-", "-"),
    ("vllm/tool_chat_template_granite.jinja", "-", "granite"),
    ("vllm/tool_chat_template_granite_20b_fc.jinja", "-", "granite-20b-fc"),
    ("vllm/tool_chat_template_hermes.jinja", "-", "hermes"),
    ("vllm/tool_chat_template_hunyuan_a13b.jinja", "hunyuan_a13b", "hunyuan_a13b"),
    ("vllm/tool_chat_template_internlm2_tool.jinja", "-", "internlm"),
    ("vllm/tool_chat_template_llama3.1_json.jinja", "-", "llama3_json"),
    ("vllm/tool_chat_template_llama3.2_json.jinja", "-", "llama3_json"),
    ("vllm/tool_chat_template_llama3.2_pythonic.jinja", "-", "pythonic"),
    ("vllm/tool_chat_template_llama4_json.jinja", "-", "llama4_json"),
    ("vllm/tool_chat_template_llama4_pythonic.jinja", "-", "llama4_pythonic"),
    ("vllm/tool_chat_template_mistral.jinja", "-", "mistral"),
    ("vllm/tool_chat_template_mistral3.jinja", "-", "mistral"),
    ("vllm/tool_chat_template_mistral_parallel.jinja", "-", "mistral"),
    ("vllm/tool_chat_template_muse_glimmer.jinja", "muse_glimmer", "muse_glimmer"),
    ("vllm/tool_chat_template_phi4_mini.jinja", "-", "phi4_mini_json"),
    ("vllm/tool_chat_template_qwen3coder.jinja", "-", "qwen3_coder"),
    ("vllm/tool_chat_template_toolace.jinja", "-", "pythonic"),
    ("vllm/tool_chat_template_xlam_llama.jinja", "-", "xlam"),
    ("vllm/tool_chat_template_xlam_qwen.jinja", "-", "xlam"),
];

fn folder() -> PathBuf {
    let fetched = std::env::var_os("UNSPOOL_TEMPLATES").map(PathBuf::from);
    fetched.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("templates"))
}

/// The name, or `-` if it is refused.
fn detected(half: Half, checkpoint: &Checkpoint<'_>) -> String {
    match Registry::builtin().detect(half, checkpoint) {
        Ok(found) => found.name,
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Unsure, "{error}");
            assert!(error.hint.is_some_and(|hint| hint.contains(half.flag())), "{}", error.message);
            "-".to_owned()
        }
    }
}

#[test]
fn templates_of_many_models_are_told_apart() {
    let folder = folder();
    if !folder.join("vllm").is_dir() {
        assert!(std::env::var_os("UNSPOOL_REQUIRE_TEMPLATES").is_none(), "no templates in {}", folder.display());
        eprintln!("!!! SKIPPED: no templates in {}; `.ci/fetch-templates` fetches them", folder.display());
        return;
    }
    let (mut right, mut refused, mut faults) = (0, 0, Vec::new());
    for (file, reasoning, tools) in EXPECTED {
        let text = std::fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let checkpoint = Checkpoint { template: Some(&text), ..Checkpoint::default() };
        for (half, expected) in [(Half::Reasoning, reasoning), (Half::Tools, tools)] {
            match detected(half, &checkpoint) {
                name if name != expected => faults.push(format!("{file}: {} {name}, not {expected}", half.flag())),
                name if name == "-" => refused += 1,
                _ => right += 1,
            }
        }
    }
    eprintln!("{} templates: {right} names told right, {refused} halves refused as they must be", EXPECTED.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let listed = |source: &str| std::fs::read_dir(folder.join(source)).into_iter().flatten().count();
    assert_eq!(EXPECTED.len(), listed("vllm") + listed("llama-cpp-python"), "every template is in the table");
}

#[test]
fn checkpoints_without_a_template_are_told_by_their_vocabulary() {
    let has = |tokens: &'static [&'static str]| move |token: &str| tokens.contains(&token);
    let mistral = has(&["[INST]", "[AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[THINK]", "[/THINK]"]);
    let checkpoint = Checkpoint { has_token: Some(&mistral), ..Checkpoint::default() };
    assert_eq!(detected(Half::Tools, &checkpoint), "mistral");
    assert_eq!(detected(Half::Reasoning, &checkpoint), "mistral");
    let older = has(&["[INST]", "[AVAILABLE_TOOLS]", "[TOOL_CALLS]"]);
    let checkpoint = Checkpoint { has_token: Some(&older), ..Checkpoint::default() };
    assert_eq!(detected(Half::Reasoning, &checkpoint), "-");
    let dsml = has(&["｜DSML｜"]);
    for (model_type, name) in [("deepseek_v32", "deepseek_v32"), ("deepseek_v4", "deepseek_v4"), ("llama", "-")] {
        let types = [model_type, "SomethingForCausalLM"];
        let checkpoint = Checkpoint { has_token: Some(&dsml), model_types: &types, ..Checkpoint::default() };
        assert_eq!(detected(Half::Tools, &checkpoint), name);
    }
}

#[test]
fn the_type_of_the_model_decides_between_templates_that_look_alike() {
    let template = "<|im_start|>assistant\\n<tool_call>\\n<function=' + name";
    let alike = |types: &[&str]| {
        let checkpoint = Checkpoint { template: Some(template), model_types: types, ..Checkpoint::default() };
        detected(Half::Tools, &checkpoint)
    };
    assert_eq!(alike(&[]), "qwen3_coder");
    assert_eq!(alike(&["mimo_v2_flash"]), "mimo");
}

#[test]
fn nothing_is_told_from_nothing() {
    assert_eq!(detected(Half::Tools, &Checkpoint::default()), "-");
    let plain = Checkpoint { template: Some("{{ messages[0].content }}"), ..Checkpoint::default() };
    let error = Registry::builtin().detect(Half::Tools, &plain).expect_err("there is no mark");
    assert!(
        error.message.starts_with("--tool-call-parser auto: the chat template has the marks of no format"),
        "{error}"
    );
}

#[test]
fn as_much_evidence_for_two_names_is_refused_with_both() {
    let mut registry = Registry::builtin();
    let file = |name: &str| {
        format!(
            "names.tools = [\"{name}\"]\ntools.call = \"<c>{{envelope}}</c>\"\n[[detect]]\ntools = \"{name}\"\n\
             template = [\"<c>\", \"</c>\"]\n"
        )
    };
    for name in ["one", "two"] {
        registry.add(&format!("{name}.toml"), &file(name)).expect("a good file");
    }
    let checkpoint = Checkpoint { template: Some("'<c>' ~ call ~ '</c>'"), ..Checkpoint::default() };
    let error = registry.detect(Half::Tools, &checkpoint).expect_err("nothing decides");
    assert!(error.message.contains("`one` (") && error.message.contains("`two` ("), "{error}");
    let more = file("three").replace("[\"<c>\", \"</c>\"]", "[\"<c>\", \"</c>\", \"call\"]");
    registry.add("three.toml", &more).expect("a good file");
    let found = registry.detect(Half::Tools, &checkpoint).expect("the most marks decide");
    assert_eq!((found.name.as_str(), found.why.contains("\"call\"")), ("three", true), "{}", found.why);
}

#[test]
fn every_rule_of_every_file_names_a_format_and_says_something() {
    let registry = Registry::builtin();
    let (reasoning, tools) = (registry.names(Half::Reasoning), registry.names(Half::Tools));
    let mut rules = 0;
    let mut check = |half: Half, name: &String| {
        let words = registry.words(half, name).expect("a built-in file can be read");
        for rule in &words.detect {
            rules += 1;
            assert!(rule.reasoning.as_ref().is_none_or(|name| reasoning.contains(name)), "{name}: {rule:?}");
            assert!(rule.tools.as_ref().is_none_or(|name| tools.contains(name)), "{name}: {rule:?}");
            assert!(rule.reasoning.is_some() || rule.tools.is_some(), "{name}: {rule:?}");
            assert!(!rule.template.is_empty() || !rule.tokens.is_empty(), "{name}: {rule:?}");
        }
    };
    reasoning.iter().for_each(|name| check(Half::Reasoning, name));
    tools.iter().for_each(|name| check(Half::Tools, name));
    assert!(rules > 100, "{rules}");
}
