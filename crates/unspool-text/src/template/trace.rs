//! Rendering that reports the current line, so that the error for a killed rendering can name it. The engine has no
//! hook for this; instead, a call is inserted before the first instruction of each line, and at each jump target.

use std::collections::{BTreeMap, HashSet};

use minijinja::machinery::{self, Instruction, Instructions};
use minijinja::{AutoEscape, Environment, Error, Value};

use super::NAME;

/// The function that receives the line; no template can spell it.
pub(super) const MARK: &str = "@line";

/// Renders the environment's template with marks.
pub(super) fn render(environment: &Environment<'static>, context: Value) -> Result<String, Error> {
    let template = environment.get_template(NAME)?;
    let compiled = machinery::get_compiled_template(&template);
    let program = marked(&compiled.instructions);
    let blocks: BTreeMap<_, _> = compiled.blocks.iter().map(|(name, block)| (*name, marked(block))).collect();
    let mut text = String::new();
    let mut out = machinery::make_string_output(&mut text);
    machinery::eval(environment, &program, context, &blocks, &mut out, AutoEscape::None)?;
    Ok(text)
}

/// The same program with a mark for each line.
fn marked<'source>(program: &Instructions<'source>) -> Instructions<'source> {
    let steps = || (0..).map_while(|at| Some((at, program.get(at)?)));
    let targets: HashSet<u32> = steps().filter_map(|(_, step)| target(&mut step.clone()).map(|at| *at)).collect();
    let mut out = Instructions::new(program.name(), program.source());
    // The current position of each instruction, or of its mark.
    let mut places = Vec::new();
    let mut line = None;
    for (at, step) in steps() {
        let (own, span) = (program.get_line(at), program.get_span(at));
        let add = |out: &mut Instructions<'source>, step: Instruction<'source>| match (span, own) {
            (Some(span), _) => out.add_with_span(step, span),
            (None, Some(line)) => out.add_with_line(step, u16::try_from(line).unwrap_or(u16::MAX)),
            (None, None) => out.add(step),
        };
        let mut place = None;
        if let Some(own) = own.filter(|own| line != Some(*own) || targets.contains(&at)) {
            line = Some(own);
            place = Some(add(&mut out, Instruction::LoadConst(Value::from(own))));
            add(&mut out, Instruction::CallFunction(MARK, Some(1)));
            add(&mut out, Instruction::DiscardTop);
        }
        let moved = add(&mut out, step.clone());
        places.push(place.unwrap_or(moved));
    }
    let end = out_len(&out);
    for at in 0..end {
        if let Some(to) = out.get_mut(at).and_then(target) {
            *to = places.get(*to as usize).copied().unwrap_or(end);
        }
    }
    out
}

fn out_len(program: &Instructions<'_>) -> u32 {
    (0..).take_while(|at| program.get(*at).is_some()).count() as u32
}

/// The jump target of an instruction.
fn target<'a>(step: &'a mut Instruction<'_>) -> Option<&'a mut u32> {
    match step {
        Instruction::Iterate(to)
        | Instruction::Jump(to)
        | Instruction::JumpIfFalse(to)
        | Instruction::JumpIfFalseOrPop(to)
        | Instruction::JumpIfTrueOrPop(to)
        | Instruction::BuildMacro(_, to, _) => Some(to),
        _ => None,
    }
}
