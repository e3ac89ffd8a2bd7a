//! The order and spacing of a format file, for `unspool fmt`. Comments stay before their entries.

use toml::Table;

/// The keys in their order; others follow, in their own order.
const KEYS: [&str; 40] = [
    "names",
    "models",
    "note",
    "pairs",
    "bound",
    "extends",
    "checkpoint",
    "when",
    "reasoning",
    "thought",
    "blocks",
    "ends",
    "after",
    "opener",
    "into",
    "unanswered",
    "start",
    "state",
    "turn",
    "switches",
    "keys",
    "default",
    "effort",
    "off",
    "content",
    "frame",
    "drop",
    "filter",
    "tools",
    "block",
    "call",
    "param",
    "between",
    "group",
    "where",
    "values",
    "doubled",
    "loose",
    "serve",
    "text",
];
/// The tables in their order.
const TABLES: [&str; 12] = [
    "vars",
    "reasoning",
    "start",
    "switches",
    "content",
    "tools",
    "channels",
    "ids",
    "serve",
    "grammar",
    "variant",
    "detect",
];

/// One key with its value, and the comments before it.
struct Entry {
    lines: Vec<String>,
    key: String,
}

/// A table with its header, and the comments before it.
struct Section {
    comments: Vec<String>,
    header: String,
    entries: Vec<Entry>,
    /// Comments after the last entry.
    rest: Vec<String>,
}

/// Formats a format file.
///
/// # Errors
/// It is not TOML.
pub fn arranged(text: &str) -> Result<String, String> {
    let before: Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    let mut sections = sections(text);
    // A variant, a rule or an example keeps its author's order.
    for section in sections.iter_mut().filter(|section| !section.header.starts_with("[[")) {
        section.entries.sort_by_key(|entry| place(&KEYS, root(&entry.key)));
    }
    let first = sections.remove(0);
    let groups = grouped(sections);
    let mut out = String::new();
    write_entries(&first, &mut out);
    for section in groups.into_iter().flatten() {
        if !out.is_empty() {
            out.push('\n');
        }
        section.comments.iter().for_each(|line| push_line(line, &mut out));
        push_line(&section.header, &mut out);
        write_entries(&section, &mut out);
    }
    // The order of TOML keys has no meaning; if the result differs anyway, the file stays unchanged.
    let after: Option<Table> = out.parse().ok();
    Ok(if after.as_ref() == Some(&before) { out } else { text.to_owned() })
}

fn push_line(line: &str, out: &mut String) {
    out.push_str(line);
    out.push('\n');
}

fn write_entries(section: &Section, out: &mut String) {
    section.entries.iter().flat_map(|entry| &entry.lines).chain(&section.rest).for_each(|line| push_line(line, out));
}

fn place(order: &[&str], key: &str) -> usize {
    order.iter().position(|known| *known == key).unwrap_or(order.len())
}

/// The first part of a dotted key.
fn root(key: &str) -> &str {
    key.split('.').next().unwrap_or(key).trim().trim_matches('"')
}

/// Tables in their order, each followed by its inner tables. Those of a list keep their order.
fn grouped(sections: Vec<Section>) -> Vec<Vec<Section>> {
    let mut groups: Vec<Vec<Section>> = Vec::new();
    for section in sections {
        let name = section.header.trim_matches(['[', ']']).trim().to_owned();
        let inner = name.contains('.');
        match groups.last_mut() {
            Some(last) if inner && root(&name) == root(last[0].header.trim_matches(['[', ']']).trim()) => {
                last.push(section);
            }
            _ => groups.push(vec![section]),
        }
    }
    groups.sort_by_key(|group| place(&TABLES, root(group[0].header.trim_matches(['[', ']']).trim())));
    groups
}

/// The parts of a file; the first has no header.
fn sections(text: &str) -> Vec<Section> {
    let new = |comments, header| Section { comments, header, entries: Vec::new(), rest: Vec::new() };
    let mut out = vec![new(Vec::new(), String::new())];
    let mut comments: Vec<String> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            // A comment with nothing below it belongs to the section above.
            if let Some(section) = out.last_mut().filter(|section| !section.entries.is_empty()) {
                section.rest.append(&mut comments);
            }
            continue;
        }
        if trimmed.starts_with('#') {
            comments.push(trimmed.to_owned());
        } else if trimmed.starts_with('[') {
            out.push(new(std::mem::take(&mut comments), trimmed.to_owned()));
        } else {
            let mut own = std::mem::take(&mut comments);
            let mut value = spaced(line.trim());
            // A value continues over further lines until it parses.
            while value.parse::<Table>().is_err() {
                let Some(next) = lines.next() else { break };
                value.push('\n');
                value.push_str(next);
            }
            let key = value.split('=').next().unwrap_or_default().trim().to_owned();
            own.extend(value.split('\n').map(str::to_owned));
            if let Some(section) = out.last_mut() {
                section.entries.push(Entry { lines: own, key });
            }
        }
    }
    if let Some(section) = out.last_mut() {
        section.rest.append(&mut comments);
    }
    out
}

/// One blank on both sides of the first equals sign.
fn spaced(line: &str) -> String {
    match line.split_once('=') {
        Some((key, value)) if !key.contains('"') => format!("{} = {}", key.trim(), value.trim_start()),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_put_in_order() {
        let text = "# how calls are\n[tools]\nparam=\"p\"\n# one\ncall  =  '''\na = b\n'''\n\n\n[[example]]\ntext = \"x\"\n[reasoning]\nthought = \"t\"   # mine\n[[variant]]\nnames = [\"b\"]\n[variant.tools]\ncall = [\n  \"c\", # why\n]\n[[variant]]\nnames = [\"a\"]\n# end\n\n";
        let text = format!("note = \"n\"\nnames.tools = [\"a\"]\n{text}");
        let right = "names.tools = [\"a\"]\nnote = \"n\"\n\n[reasoning]\nthought = \"t\"   # mine\n\n# how calls are\n[tools]\n# one\ncall = '''\na = b\n'''\nparam = \"p\"\n\n[[variant]]\nnames = [\"b\"]\n\n[variant.tools]\ncall = [\n  \"c\", # why\n]\n\n[[variant]]\nnames = [\"a\"]\n# end\n\n[[example]]\ntext = \"x\"\n";
        assert_eq!(arranged(&text).as_deref(), Ok(right));
        assert_eq!(arranged(right).as_deref(), Ok(right), "what is in order stays");
        assert!(arranged("a = ").is_err());
        assert_eq!(arranged("").as_deref(), Ok(""));
    }
}
