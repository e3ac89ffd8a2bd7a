//! The names that a model's own name speaks for.

use unspool::{Half, Registry};

/// Models, and the names that are right for them; `-`: it writes nothing of the kind, or nobody knows.
const EXPECTED: &[(&str, &str, &str)] = &[
    ("Qwen/Qwen3-8B", "qwen3", "qwen3_json"),
    ("Qwen3-8B", "qwen3", "qwen3_json"),
    ("/srv/models/Qwen3-8B-AWQ", "qwen3", "qwen3_json"),
    ("Qwen/Qwen3-30B-A3B-Instruct-2507", "-", "qwen3_json"),
    ("Qwen/Qwen3-30B-A3B-Thinking-2507", "qwen3", "qwen3_json"),
    ("Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", "-", "qwen3_coder"),
    ("Qwen/Qwen3.5-4B", "qwen3", "qwen3_coder"),
    ("Qwen/Qwen2.5-7B-Instruct", "-", "hermes"),
    ("Qwen/QwQ-32B", "deepseek_r1", "hermes"),
    ("deepseek-ai/DeepSeek-R1-0528", "deepseek_r1", "deepseek_v3"),
    ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "deepseek_r1", "-"),
    ("deepseek-ai/DeepSeek-V3-0324", "-", "deepseek_v3"),
    ("deepseek-ai/DeepSeek-V3.1", "deepseek_v3", "deepseek_v31"),
    ("deepseek-ai/DeepSeek-V3.2-Exp", "deepseek_v3", "deepseek_v32"),
    ("deepseek-ai/DeepSeek-V4-Flash", "deepseek_v4", "deepseek_v4"),
    ("deepseek-ai/DeepSeek-V4.1", "deepseek_v41", "deepseek_v41"),
    ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "nemotron_v3", "qwen3_coder"),
    ("ibm-granite/granite-3.3-2b-instruct", "granite", "granite"),
    ("ibm-granite/granite-4.0-h-small", "-", "granite4"),
    ("ibm-granite/granite-4.2-8b", "granite_thinking_parser", "qwen3_coder"),
    ("moonshotai/Kimi-K2-Instruct-0905", "-", "kimi_k2"),
    ("moonshotai/Kimi-K2-Thinking", "kimi_k2", "kimi_k2"),
    ("moonshotai/Kimi-K3", "kimi_k3", "kimi_k3"),
    ("zai-org/GLM-4.6-FP8", "glm45", "glm45"),
    ("zai-org/GLM-5.1", "glm47", "glm47"),
    ("openai/gpt-oss-20b", "openai_gptoss", "openai"),
    ("MiniMaxAI/MiniMax-M2.1", "minimax_m2", "minimax_m2"),
    ("meta-llama/Llama-3.3-70B-Instruct", "-", "llama3_json"),
    ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "-", "llama4_pythonic"),
    ("mistralai/Magistral-Small-2509", "mistral", "mistral"),
    ("google/gemma-4-31B-it", "gemma4", "gemma4"),
    ("baidu/ERNIE-4.5-21B-A3B-Thinking", "ernie45", "ernie45"),
    ("baidu/ERNIE-4.5-300B-A47B-PT", "-", "ernie45"),
    ("allenai/Olmo-3-7B-Think", "olmo3", "olmo3"),
    ("allenai/Olmo-3-7B-Instruct", "-", "olmo3"),
    ("stepfun-ai/step3", "step3", "step3"),
    ("stepfun-ai/Step-3.5-Flash", "step3p5", "step3p5"),
    ("XiaomiMiMo/MiMo-V2-Flash", "mimo", "mimo"),
    ("poolside/Laguna-XS.2", "poolside_v1", "poolside_v1"),
    ("gpt2", "-", "-"),
];

#[test]
fn a_model_has_one_right_name_for_each_half() {
    let models = Registry::builtin().models().expect("the built-in files");
    let mut faults = Vec::new();
    for (model, reasoning, tools) in EXPECTED {
        let found = [Half::Reasoning, Half::Tools].map(|half| models.name(half, model).unwrap_or("-"));
        if found != [*reasoning, *tools] {
            faults.push(format!("{model}: {found:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_name_of_a_model_in_place_of_a_parser_is_told() {
    let setup = unspool::Setup { tool_parser: Some("deepseek-ai/DeepSeek-V3.1".into()), ..unspool::Setup::default() };
    let error = Registry::builtin().pair(&setup).expect_err("no such name");
    let hint = error.hint.expect("a hint");
    assert_eq!(hint, "`deepseek-ai/DeepSeek-V3.1` is a model, whose parser is `deepseek_v31`");
}

#[test]
fn the_globs_of_a_file_may_differ_by_half() {
    let mut registry = Registry::builtin();
    let text = "names = { reasoning = [\"heron\"], tools = [\"heron\"] }\nmodels = { reasoning = \"us/Heron-*-Think\", \
                tools = [\"us/Heron-*\"] }\nstart = { state = \"content\" }\nreasoning.thought = \"<t>{thought}</t>\"\n\
                tools.call = \"<c>{envelope}</c>\"\n";
    registry.add("heron.toml", text).expect("a good file");
    let models = registry.models().expect("the files");
    let names = |model: &str| [Half::Reasoning, Half::Tools].map(|half| models.name(half, model));
    assert_eq!(names("us/Heron-1-Think"), [Some("heron"), Some("heron")]);
    assert_eq!(names("us/Heron-1"), [None, Some("heron")]);
    let error =
        registry.add("bad.toml", &text.replace("reasoning = \"us", "thoughts = \"us")).expect_err("no such half");
    assert!(error.message.contains("bad.toml:2: `models`"), "{}", error.message);
}
