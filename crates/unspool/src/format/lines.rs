//! The line of each key in a format file.

use std::collections::HashMap;

/// Maps each dotted path to its line.
pub(super) fn line_table(text: &str) -> HashMap<String, usize> {
    let mut lines = HashMap::new();
    if let Ok(table) = toml::de::DeTable::parse(text) {
        walk(table.get_ref(), "", text, &mut lines);
    }
    lines
}

fn walk(table: &toml::de::DeTable<'_>, prefix: &str, text: &str, lines: &mut HashMap<String, usize>) {
    let line = |at: usize| 1 + text[..at.min(text.len())].matches('\n').count();
    for (key, value) in table {
        let path = if prefix.is_empty() { key.get_ref().to_string() } else { format!("{prefix}.{}", key.get_ref()) };
        lines.insert(path.clone(), line(key.span().start));
        match value.get_ref() {
            toml::de::DeValue::Table(t) => walk(t, &path, text, lines),
            toml::de::DeValue::Array(a) => {
                for (i, item) in a.iter().enumerate() {
                    let path = format!("{path}.{i}");
                    lines.insert(path.clone(), line(item.span().start));
                    if let toml::de::DeValue::Table(t) = item.get_ref() {
                        walk(t, &path, text, lines);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Whether a key, or the list that contains it, is in the file.
pub(super) fn has_line(lines: &HashMap<String, usize>, key: &str) -> bool {
    let list = key.rsplit_once('.').filter(|(_, entry)| entry.parse::<usize>().is_ok()).map(|(list, _)| list);
    lines.contains_key(key) || list.is_some_and(|list| lines.contains_key(list))
}

/// The line of a key, or of the nearest table around it.
pub(super) fn line_of(lines: &HashMap<String, usize>, key: &str) -> usize {
    let mut key = key.replace('[', ".").replace(']', "");
    loop {
        if let Some(line) = lines.get(&key) {
            return *line;
        }
        match key.rfind('.') {
            Some(i) => key.truncate(i),
            None => return 1,
        }
    }
}
