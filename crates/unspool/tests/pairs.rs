//! What a pair asks of its surroundings, and which halves go together.

use std::collections::HashMap;

use serde_json::{Value, json};
use unspool::{Error, ErrorKind};
use unspool::{Half, Pair, Registry, Request, Setup, Vocabulary};
use unspool::{Level, Required};

fn setup(reasoning: Option<&str>, tools: Option<&str>) -> Setup {
    Setup { reasoning_parser: reasoning.map(str::to_owned), tool_parser: tools.map(str::to_owned), ..Setup::default() }
}

fn pair(reasoning: Option<&str>, tools: Option<&str>) -> Result<Pair, Error> {
    Registry::builtin().pair(&setup(reasoning, tools))
}

fn request(body: &Value) -> Request {
    Request::from_openai(body).expect("a request")
}

fn with_tools(choice: &str) -> Request {
    request(&json!({"tool_choice": choice, "tools": [{"type": "function", "function": {"name": "tide"}}]}))
}

#[test]
fn all_names_are_there() {
    let registry = Registry::builtin();
    let (reasoning, tools) = (registry.names(Half::Reasoning), registry.names(Half::Tools));
    assert!(reasoning.len() >= 38 + 4 && tools.len() >= 54 + 4, "{} + {} names", reasoning.len(), tools.len());
    for name in ["beam", "muse", "musespark1x", "step5"] {
        assert!(reasoning.iter().any(|n| n == name) && tools.iter().any(|n| n == name), "{name}");
    }
}

#[test]
fn special_tokens_are_kept_where_a_half_needs_them() {
    let keeps =
        |reasoning, tools, request: &Request| pair(reasoning, tools).expect("a pair").needs(request).special_tokens;
    assert!(!keeps(None, None, &with_tools("auto")), "raw text needs nothing");
    assert!(keeps(Some("qwen3"), None, &Request::default()));
    assert!(keeps(None, Some("hermes"), &with_tools("auto")));
    assert!(keeps(None, Some("hermes"), &with_tools("required")));
    assert!(!keeps(None, Some("hermes"), &with_tools("none")), "no call is wanted");
    assert!(!keeps(None, Some("hermes"), &Request::default()), "no tools");
    assert!(keeps(None, Some("qwen3_coder"), &Request::default()), "always, as in vLLM");
    assert!(!keeps(None, Some("pythonic"), &with_tools("auto")), "no marker of it is special");
    assert!(keeps(Some("deepseek_r1"), Some("pythonic"), &Request::default()), "one half is enough");
}

#[test]
fn forced_calls_and_levels_are_what_the_files_say() {
    let needs = |tools: &str| pair(None, Some(tools)).expect("a pair").needs(&with_tools("required"));
    for (name, forced) in [
        ("hermes", Required::Native),
        ("granite4", Required::Json),
        ("seed_oss", Required::Json),
        ("xlam", Required::Json),
        ("lfm2", Required::Json),
        ("hy_v3", Required::Json),
        ("hy_v4", Required::Native),
        ("muse", Required::Native),
    ] {
        assert_eq!(needs(name).forced_calls, forced, "{name}");
    }
    assert_eq!((needs("glm45").level, needs("ling3").level), (Level::Function, Level::Auto));
}

#[test]
fn a_vocabulary_without_the_markers_is_refused_by_name() {
    let r1 = pair(Some("deepseek_r1"), Some("deepseek_v3")).expect("a pair");
    let error = r1.check_vocabulary(|token| token == "<think>", "org/model").expect_err("tokens are missing");
    assert_eq!(error.kind, ErrorKind::MissingTokens);
    assert_eq!(
        error.message,
        "the tokenizer of org/model does not fit: --reasoning-parser deepseek_r1 needs the token `</think>`; \
         --tool-call-parser deepseek_v3 needs the token `<｜tool▁calls▁begin｜>` and `<｜tool▁calls▁end｜>`"
    );
    assert!(error.hint.is_some());
    assert_eq!(r1.check_vocabulary(|_| true, "org/model"), Ok(()));
    // Off unless asked for, so vLLM does not look; markers of plain text need no entry.
    for (reasoning, tools) in [(Some("deepseek_v3"), None), (Some("olmo3"), Some("olmo3")), (None, Some("hermes"))] {
        assert_eq!(pair(reasoning, tools).expect("a pair").check_vocabulary(|_| false, "m"), Ok(()));
    }
}

#[test]
fn the_markers_of_the_check_are_those_of_the_checkpoint() {
    let special: HashMap<String, u32> =
        [("<think:x>", 1), ("</think:x>", 2), ("<tool_calls:x>", 3)].map(|(t, i)| (t.to_owned(), i)).into();
    let vocabulary = Vocabulary { special: special.clone(), ..Vocabulary::default() };
    let setup = Setup { vocabulary, ..setup(Some("hy_v3"), Some("hy_v3")) };
    let pair = Registry::builtin().pair(&setup).expect("a pair");
    let error = pair.check_vocabulary(|token| special.contains_key(token), "m").expect_err("one is missing");
    assert!(error.message.ends_with("--tool-call-parser hy_v3 needs the token `</tool_calls:x>`"), "{}", error.message);
}

#[test]
fn every_needed_token_stands_in_a_template() {
    let registry = Registry::builtin();
    for half in [Half::Reasoning, Half::Tools] {
        for name in registry.names(half) {
            let words = registry.words(half, &name).expect("a known name");
            let written = format!("{:?} {:?} {:?} {:?}", words.reasoning, words.start, words.content, words.tools);
            let needed = if half == Half::Reasoning { &words.ids.need.reasoning } else { &words.ids.need.tools };
            for token in needed.iter() {
                assert!(written.contains(token.as_str()), "{name} needs {token}, which it does not use");
            }
        }
    }
}

#[test]
fn halves_that_cannot_work_together_are_told() {
    let said = |reasoning: &str, tools: &str| pair(Some(reasoning), Some(tools)).expect("a pair").warnings().to_vec();
    let [warning] = &said("qwen3", "mistral")[..] else { panic!("one warning") };
    assert_eq!(
        warning.message,
        "--reasoning-parser qwen3 expects calls that begin with `<tool_call>`, \
         and --tool-call-parser mistral reads none of these"
    );
    assert!(warning.hint.as_ref().is_some_and(|hint| hint.contains("qwen3_coder") && hint.contains("hermes")));
    assert_eq!(said("deepseek_v4", "deepseek_v32").len(), 1, "one file, but not one spelling");
    for (reasoning, tools) in [("qwen3", "hermes"), ("nemotron_v3", "qwen3_coder"), ("deepseek_r1", "pythonic")] {
        assert_eq!(said(reasoning, tools), [], "{reasoning} + {tools}");
    }
}

#[test]
fn pairs_that_are_known_to_work_bring_no_warning() {
    let registry = Registry::builtin();
    for name in registry.names(Half::Reasoning) {
        let words = registry.words(Half::Reasoning, &name).expect("a known name");
        if words.checkpoint.is_some() {
            continue;
        }
        let file = |half| registry.file(half, &name).ok().map(|(path, _)| path);
        // `deepseek_v3` is the name of two models' halves.
        let own = (file(Half::Tools) == file(Half::Reasoning)).then(|| name.clone());
        for tools in own.into_iter().chain(words.pairs.to_vec()) {
            let pair = pair(Some(&name), Some(&tools)).unwrap_or_else(|error| panic!("{name} + {tools}: {error}"));
            assert_eq!(pair.warnings(), [], "{name} + {tools}");
            assert!(registry.partners(Half::Reasoning, &name).contains(&tools));
            assert!(registry.partners(Half::Tools, &tools).contains(&name));
        }
    }
}

#[test]
fn a_checkpoint_without_its_template_is_told_apart_from_a_bad_file() {
    for name in ["hf", "beam"] {
        let error = pair(Some(name), None).expect_err("no template");
        assert_eq!(error.kind, ErrorKind::BadCheckpoint);
        assert!(error.message.starts_with(&format!("--reasoning-parser {name}: ")), "{error}");
    }
    let config =
        json!({"response_template": {"version": 1, "start_anchor": "<|bot|>", "fields": {"thinking": {"close": 3}}}});
    let error = Registry::builtin()
        .pair(&Setup { tokenizer_config: config, ..setup(None, Some("beam")) })
        .expect_err("a bad template");
    assert_eq!(error.kind, ErrorKind::BadCheckpoint);
    assert!(error.message.starts_with("--tool-call-parser beam: ") && error.hint.is_some(), "{error}");
}

#[test]
fn bound_families_are_not_mixed() {
    for (reasoning, tools) in
        [("hf", "beam"), ("beam", "hf"), ("beam", "hermes"), ("qwen3", "muse"), ("muse", "openai")]
    {
        let error = pair(Some(reasoning), Some(tools)).expect_err("two families");
        assert_eq!(error.kind, ErrorKind::BadPair);
        for part in [format!("--reasoning-parser {reasoning}"), format!("--tool-call-parser {tools}")] {
            assert!(error.message.contains(&part), "{error}");
        }
    }
}

#[test]
fn a_checkpoint_without_thoughts_serves_calls_alone() {
    let calls = json!({"open": "<do>", "close": "</do>", "content": "json"});
    let template = json!({"version": 1, "start_anchor": "<|bot|>", "fields": {"content": {}, "tool_calls": calls}});
    let pair = |reasoning: Option<&str>, tools: Option<&str>| {
        let setup = Setup {
            reasoning_parser: reasoning.map(str::to_owned),
            tool_parser: tools.map(str::to_owned),
            tokenizer_config: json!({"response_template": template}),
            ..Setup::default()
        };
        Registry::builtin().pair(&setup)
    };
    assert!(pair(None, Some("hf")).expect("calls alone").warnings().is_empty());
    let both = pair(Some("hf"), Some("hf")).expect("calls alone");
    let [warning] = both.warnings() else { panic!("one warning") };
    assert!(warning.message.contains("--reasoning-parser hf finds no thought"), "{}", warning.message);
    let error = pair(Some("hf"), None).expect_err("nothing is left");
    assert!(error.message.contains("there is no `thinking`"), "{}", error.message);
}
