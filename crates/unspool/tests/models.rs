//! The names that a model's own name speaks for.

use unspool::{Half, Registry, Setup};

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
    let setup = Setup { tool_parser: Some("deepseek-ai/DeepSeek-V3.1".into()), ..Setup::default() };
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

/// Names that other servers have, and ours for each half.
const ALIASES: &[(&str, &str, &str)] = &[
    ("qwen", "-", "hermes"),
    ("qwen25", "-", "hermes"),
    ("qwen3-thinking", "qwen3", "-"),
    ("gpt-oss", "openai_gptoss", "openai"),
    ("harmony", "openai_gptoss", "openai"),
    ("glm", "glm45", "glm45"),
    ("hunyuan", "hy_v3", "hy_v3"),
    ("interns1", "qwen3", "internlm"),
    ("llama3", "-", "llama3_json"),
    ("minimax", "minimax_m2", "minimax_m2"),
    ("minimax-m2", "minimax_m2", "minimax_m2"),
    ("minimax-append-think", "minimax_m2_append_think", "-"),
    ("minimax-m3", "minimax_m3", "minimax_m3"),
    ("deepseek-r1", "deepseek_r1", "-"),
    ("deepseek-v3", "deepseek_v3", "deepseek_v3"),
    ("deepseekv31", "-", "deepseek_v31"),
    ("deepseekv32", "-", "deepseek_v32"),
    ("deepseek-v4", "deepseek_v4", "deepseek_v4"),
    ("nemotron_3", "nemotron_v3", "-"),
    ("response_template", "hf", "hf"),
    ("qwen3", "-", "-"),
    ("heron", "-", "-"),
];

#[test]
fn names_of_other_servers_are_read_and_told() {
    let registry = Registry::builtin();
    for (alias, reasoning, tools) in ALIASES {
        let found = [Half::Reasoning, Half::Tools].map(|half| registry.alias(half, alias).unwrap_or("-"));
        assert_eq!(found, [*reasoning, *tools], "{alias}");
    }
    let with = |name: &str| {
        let setup = Setup { reasoning_parser: Some(name.into()), tool_parser: Some(name.into()), ..Setup::default() };
        registry.pair(&setup).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    let pair = with("gpt-oss");
    let told: Vec<&str> = pair.warnings().iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(
        told,
        ["--reasoning-parser gpt-oss is read as `openai_gptoss`", "--tool-call-parser gpt-oss is read as `openai`"]
    );
    assert_eq!(with("minimax-m2").explain(), with("minimax_m2").explain());
    assert_eq!(registry.partners(Half::Reasoning, "glm"), registry.partners(Half::Reasoning, "glm45"));
}

#[test]
fn no_alias_is_a_name_or_stands_for_two() {
    let registry = Registry::builtin();
    for half in [Half::Reasoning, Half::Tools] {
        let (names, aliases) = (registry.names(half), registry.aliases(half));
        assert!(aliases.len() >= 15, "{aliases:?}");
        for (alias, name) in &aliases {
            assert!(names.contains(name) && !names.contains(alias), "{alias} for {name}");
            assert_eq!(aliases.iter().filter(|(other, _)| other == alias).count(), 1, "{alias}");
        }
    }
}

#[test]
fn an_alias_of_a_users_file_is_checked() {
    let mut registry = Registry::builtin();
    let text = |of: &str| {
        format!("names.tools = [\"heron\"]\nnames.alias.egret = \"{of}\"\ntools.call = \"<c>{{envelope}}</c>\"\n")
    };
    let error = registry.add("heron.toml", &text("stork")).expect_err("no such name");
    assert!(
        error.message.contains("heron.toml:2: `names.alias.egret`: no name of this file is `stork`"),
        "{}",
        error.message
    );
    registry.add("heron.toml", &text("heron")).expect("a good file");
    assert_eq!(registry.alias(Half::Tools, "egret"), Some("heron"));
    // What exists under a name is never hidden by an alias.
    let hides = "names.tools = [\"stork\"]\nnames.alias.hermes = \"stork\"\ntools.call = \"<s>{envelope}</s>\"\n";
    registry.add("stork.toml", hides).expect("a good file");
    assert_eq!(registry.alias(Half::Tools, "hermes"), None);
}

#[test]
fn old_words_of_a_file_are_read_and_told() {
    let old = "names = { reasoning = [\"heron\"], tools = [\"heron\"], former = [\"egret\"] }\nstart.state = \"content\"\n\
               reasoning.thought = \"<t>{thought}</t>\"\ncutoff.unanswered = \"k\"\nswitches.effort_off = [\"none\"]\n\
               [tools]\ncall = \"<c>{envelope}</c>\"\nsilent = \"json\"\nloose = true\nenvelope.container = \"array\"\n\
               [[variant]]\nwhen.vocab_lacks = [\"<t>\"]\ntools.python = true\n";
    let today = "names = { reasoning = [\"heron\"], tools = [\"heron\"], alias.egret = [\"heron\", \"heron\"] }\nstart.state = \"content\"\n\
               reasoning.thought = \"<t>{thought}</t>\"\nreasoning.unanswered = \"k\"\nswitches.effort = [\"!none\"]\n\
               [tools]\ncall = \"<c>[{envelope}]</c>\"\nvalues = [\"json\"]\nloose = [\"blanks\"]\n\
               [[variant]]\nwhen.vocab = [\"!<t>\"]\ntools.values = [\"json\", \"python\"]\n";
    let with = |text: &str| {
        let mut registry = Registry::builtin();
        registry.add("heron.toml", text).unwrap_or_else(|e| panic!("{e}"));
        registry
    };
    let (old, today) = (with(old), with(today));
    let explained = |registry: &Registry| {
        let setup =
            Setup { reasoning_parser: Some("egret".into()), tool_parser: Some("egret".into()), ..Setup::default() };
        registry.pair(&setup).expect("a pair").explain()
    };
    assert_eq!(explained(&old), explained(&today));
    assert!(today.warnings().is_empty(), "{:?}", today.warnings());
    let told: Vec<&str> = old.warnings().iter().map(|warning| warning.message.as_str()).collect();
    let words = [
        "1: `names.former`",
        "10: `tools.envelope.container`",
        "8: `tools.silent`",
        "4: `cutoff.unanswered`",
        "5: `switches.effort_off`",
        "9: `tools.loose`",
        "13: `variant.0.tools.python`",
        "12: `variant.0.when.vocab_lacks`",
    ];
    for word in words {
        let message = format!("heron.toml:{word} is an old word");
        assert!(told.contains(&message.as_str()), "{message} is not among {told:#?}");
    }
    assert_eq!(told.len(), words.len(), "{told:#?}");
    assert!(
        old.warnings().iter().all(|warning| warning.hint.as_deref().is_some_and(|hint| hint.starts_with("write ")))
    );
}

#[test]
fn built_in_files_have_no_old_words() {
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../formats")).expect("the formats") {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("a format file");
        let mut registry = Registry::builtin();
        // A file that takes its checkpoint's template cannot be proved without one.
        if text.contains("checkpoint = ") {
            continue;
        }
        registry.add("own.toml", &text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let old = registry.warnings().iter().find(|warning| warning.message.contains("old word"));
        assert!(old.is_none(), "{}: {old:?}", path.display());
    }
}
