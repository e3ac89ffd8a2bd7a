//! The page `docs/formats.md`: all names of both halves, from their files.

use std::fmt::Write as _;

use unspool::Registry;
use unspool::setup::Half;

use super::{Calls, Row, Thinking, shown};
use crate::failure::Failure;

const HEAD: &str = "\
# All names

Generated from the [format files](../formats) by `unspool formats --markdown`. [format-language.md](format-language.md) explains the keys, and
`unspool formats NAME` shows one format in full.

";

/// The page.
pub(super) fn page(registry: &Registry, rows: &[Row]) -> Result<String, Failure> {
    let mut out = HEAD.to_owned();
    out.push_str(&models(registry)?);
    let thinkers: Vec<(&Row, &Thinking)> = rows.iter().filter_map(|row| Some((row, row.reasoning.as_ref()?))).collect();
    let callers: Vec<(&Row, &Calls)> = rows.iter().filter_map(|row| Some((row, row.tools.as_ref()?))).collect();
    let _ = writeln!(out, "## Reasoning: the {} names of `--reasoning-parser`\n", thinkers.len());
    out.push_str(
        "*begins in*: where a reply begins if the prompt says nothing. *switches*: the request's fields that switch thinking, and the default. \
         *cut off*: the field of a thought that the end of the output cuts off.\n\n",
    );
    out.push_str("| name | opener | closer | begins in | switches | cut off | file |\n|---|---|---|---|---|---|---|\n");
    for (row, thinking) in thinkers {
        let [opener, closer] = thinking.markers().map(|text| if text.is_empty() { text } else { code(&text) });
        let switches = thinking.switches.iter().map(|s| code(s)).collect::<Vec<_>>().join(", ");
        let default = if thinking.default { "on" } else { "off" };
        let switches =
            if switches.is_empty() { format!("none ({default})") } else { format!("{switches} ({default})") };
        let _ = writeln!(
            out,
            "| {} | {opener} | {closer} | {} | {switches} | {} | {} |",
            code(&row.name),
            thinking.begins(),
            thinking.cut_off,
            file(&thinking.file)
        );
    }
    out.push_str(&aliases(registry, Half::Reasoning));
    let _ = writeln!(out, "\n## Tool calls: the {} names of `--tool-call-parser`\n", callers.len());
    out.push_str(
        "*chat template*: *its own* is one that the checkpoints bring; *ours* is written from the file by `unspool template write NAME`, in each of the flavours that stand behind \
         the name; *needs one*: neither is known.\n\n",
    );
    out.push_str("| name | block | call | goes with | chat template | file |\n|---|---|---|---|---|---|\n");
    for (row, calls) in callers {
        let block = calls.block.as_deref().map_or_else(String::new, |block| code(&shown(Some(block))));
        let call = calls.call.as_deref().map_or_else(String::new, |call| code(&shown(Some(call))));
        let partners = calls.goes_with.iter().map(|name| code(name)).collect::<Vec<_>>().join(", ");
        let partners = if partners.is_empty() { "any".to_owned() } else { partners };
        let _ = writeln!(
            out,
            "| {} | {block} | {call} | {partners} | {} | {} |",
            code(&row.name),
            template(registry, &row.name)?,
            file(&calls.file)
        );
    }
    out.push_str(&aliases(registry, Half::Tools));
    Ok(out)
}

/// The source of a format's chat template.
fn template(registry: &Registry, name: &str) -> Result<String, Failure> {
    let words = registry.words(Half::Tools, name)?;
    // If a rule identifies the template, checkpoints bring one.
    let told = words.detect.iter().any(|rule| rule.tools.as_deref() == Some(name) && !rule.template.is_empty());
    let mut said = Vec::new();
    if told || words.bound && words.checkpoint.is_none() {
        said.push("its own".to_owned());
    }
    if !words.turns.is_empty() {
        let flavours = registry
            .flavours(Half::Tools, name)
            .into_iter()
            .map(|flavour| format!(", {}", code(&format!("/{flavour}"))));
        said.push(format!("ours{}", flavours.collect::<String>()));
    }
    Ok(if said.is_empty() { "needs one".to_owned() } else { said.join("; ") })
}

/// Other servers' names for these.
fn aliases(registry: &Registry, half: Half) -> String {
    let all = registry.aliases(half);
    let listed: Vec<String> = all.iter().map(|(alias, name)| format!("{} for {}", code(alias), code(name))).collect();
    format!("\nOther servers' names, accepted with a warning: {}.\n", listed.join(", "))
}

/// The names for each model; a glob stands for a model's name.
fn models(registry: &Registry) -> Result<String, Failure> {
    let mut out = "## Models: which flags they need\n\n\
                   For other models use `unspool formats MODEL`, or `auto`, which reads the model's own files. An empty cell: leave the flag out.\n\n\
                   | model | `--reasoning-parser` | `--tool-call-parser` |\n|---|---|---|\n"
        .to_owned();
    let models = registry.models()?;
    for glob in models.globs() {
        let name = |half| models.name(half, glob).map(code).unwrap_or_default();
        let _ = writeln!(out, "| {} | {} | {} |", code(glob), name(Half::Reasoning), name(Half::Tools));
    }
    out.push('\n');
    Ok(out)
}

fn file(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    format!("[{name}](../formats/{name})")
}

/// Formats a text as code in a table cell.
fn code(text: &str) -> String {
    let text = text.replace('|', "\\|");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}
