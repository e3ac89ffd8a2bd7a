//! Grammars behind a prompt that has opened the thought, or that says that one may come.

use serde_json::json;
use unspool::grammar::{Options, StrictLevel};
use unspool::sample::Sampler;

use super::machine::Machine;
use super::pairs::Names;
use super::{literals, messages, names_with_calls, report, request, tools};

fn fault(names: &Names, open: bool) -> Option<String> {
    let fields = json!({"tools": tools::tools(names), "tool_choice": "required"});
    let options = Options {
        level: StrictLevel::Parameter,
        with_thought: true,
        thought_open: Some(open),
        answer: None,
        ..Options::default()
    };
    let grammar = names.pair().grammar(&request(&fields), &options).ok()??;
    let mut markers = messages::markers(names);
    let mut triggers = Vec::new();
    literals(&grammar.structural_tag(), &mut markers, &mut triggers);
    let machine = Machine::new(&markers, &triggers);
    let mut matcher = match machine.matcher(&grammar.lark()) {
        Ok(matcher) => matcher,
        Err(error) => return Some(format!("{names}, {open}: {error}")),
    };
    let mut sampler = Sampler::new(31);
    (0..4).find_map(|_| {
        let text = grammar.sample(&mut sampler);
        machine.accepts(&mut matcher, &text).err().map(|error| format!("{names}, {open}: {error}\n  text: {text:?}"))
    })
}

#[test]
fn they_compile_and_admit_their_samples() {
    let names = names_with_calls();
    let all = names.iter().flat_map(|names| [true, false].map(|open| fault(names, open)));
    report(&all.flatten().collect::<Vec<_>>());
}
