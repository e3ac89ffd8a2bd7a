//! Chat templates that are written from format files: each fits its own parsers, writes what the renderer writes, and comes out
//! of Python's Jinja2 as it comes out of ours.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod jinja2;
#[allow(dead_code)]
#[path = "../../../unspool/tests/roundtrip/messages.rs"]
mod messages;
#[allow(dead_code)]
#[path = "../../../unspool/tests/roundtrip/pairs.rs"]
mod pairs;
mod property;
#[path = "../../../unspool/tests/roundtrip/same.rs"]
mod same;
mod words;

use serde_json::Map;
use unspool::{Half, Registry};
use unspool_check::template::{Subject, Verdict, prompter};
use unspool_check::write::Wish;

/// Every template that can be written: each format with turns, with the reasoning parsers that go with it, in each flavour.
pub(crate) fn wishes() -> Vec<Wish> {
    let registry = Registry::builtin();
    let known = |half: Half, name: &str| !registry.words(half, name).expect("the file is right").turns.is_empty();
    let mut out = Vec::new();
    for tools in registry.names(Half::Tools) {
        let mut thinkers = vec![None];
        thinkers.extend(registry.partners(Half::Tools, &tools).into_iter().take(3).map(Some));
        let mut flavours = vec![None];
        flavours.extend(registry.flavours(Half::Tools, &tools).into_iter().map(Some));
        for thinker in &thinkers {
            let wish = |flavour: &Option<String>| Wish {
                reasoning_parser: thinker.clone(),
                tool_parser: Some(tools.clone()),
                flavour: flavour.clone(),
                instructions: None,
            };
            let writable = thinker.as_deref() != Some("minimax_m2_append_think");
            out.extend(flavours.iter().map(wish).filter(|_| known(Half::Tools, &tools) && writable));
        }
    }
    let thinkers = registry.names(Half::Reasoning).into_iter().filter(|name| known(Half::Reasoning, name));
    let alone = thinkers.filter(|name| name != "minimax_m2_append_think");
    out.extend(alone.map(|name| Wish { reasoning_parser: Some(name), ..Wish::default() }));
    out
}

pub(crate) fn shown(wish: &Wish) -> String {
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".to_owned());
    format!("{} + {} / {}", name(&wish.reasoning_parser), name(&wish.tool_parser), name(&wish.flavour))
}

pub(crate) fn written(wish: &Wish) -> String {
    wish.template(&Registry::builtin()).unwrap_or_else(|error| panic!("{}: {error}", shown(wish)))
}

#[test]
fn every_template_fits_its_own_parsers() {
    let mut faults = Vec::new();
    for wish in wishes() {
        let pair = wish.pair(&Registry::builtin()).unwrap();
        let prompter =
            prompter(&written(&wish), Map::new()).unwrap_or_else(|error| panic!("{}: {error}", shown(&wish)));
        let (reasoning, tools) = (wish.reasoning_parser.is_some(), wish.tool_parser.is_some());
        let findings = Subject { prompter: &prompter, pair: &pair, reasoning, tools }.findings();
        // Without a tool-call parser there are no tools to be shown.
        let differs = findings.iter().filter(|one| one.verdict == Verdict::Differs);
        let told: Vec<String> =
            differs.map(|one| format!("  {}: {}\n    {:?}", one.check, one.message, one.written)).collect();
        if !told.is_empty() {
            faults.push(format!("{}\n{}", shown(&wish), told.join("\n")));
        }
    }
    assert!(wishes().len() > 70, "{} templates", wishes().len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
