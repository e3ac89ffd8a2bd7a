//! Expands the keys of a format file into those that the engine reads.
//!
//! A file states facts in its author's terms: an object where the model writes one, one header for a message, `!` for
//! exclusion. The engine reads each fact separately ([`super::file::FormatFile`]).

use toml::{Table, Value};

use super::object::{Keys, Listed, Unfolded, unfold};
use crate::explanation::Explanation;
use crate::suggest::{did_you_mean, near};

/// A key and its error.
pub(super) type Fault = (String, Explanation);

/// Expands the keys of a resolved file.
pub(super) fn rewrite(table: &mut Table) -> Result<(), Fault> {
    header_of_messages(table)?;
    further_calls(table);
    envelope(table)?;
    values(table)?;
    encoding(table)?;
    loose(table)?;
    element(table);
    header_of_turns(table);
    effort(table);
    if let Some(key) = section(table, "reasoning").and_then(|reasoning| reasoning.remove("unanswered")) {
        put(table, "cutoff", "unanswered", key);
    }
    if let Some(Value::Array(rules)) = table.get_mut("detect") {
        for rule in rules.iter_mut().filter_map(Value::as_table_mut) {
            negated(rule, "template", "template", "lacks");
        }
    }
    Ok(())
}

/// Texts with a leading `!` must be absent.
pub(super) fn negated(table: &mut Table, key: &str, has: &str, lacks: &str) {
    let Some(texts) = texts(table.get(key)) else { return };
    let (without, with): (Vec<String>, Vec<String>) = texts.into_iter().partition(|text| text.starts_with('!'));
    table.remove(key);
    if !with.is_empty() {
        table.insert(has.into(), list(with));
    }
    if !without.is_empty() {
        table.insert(lacks.into(), list(without.iter().map(|text| text[1..].to_owned())));
    }
}

/// `channels.header`: the markers of a message's header, around the slots.
fn header_of_messages(table: &mut Table) -> Result<(), Fault> {
    let Some(channels) = section(table, "channels") else { return Ok(()) };
    let Some(header) = channels.remove("header") else { return Ok(()) };
    let wrong = |what: &str| {
        let hint = "write `<|start|>{role}…<|message|>`, with `{channel}`, `{to}` and `{type}` behind their markers";
        ("channels.header".to_owned(), Explanation::new(what, hint))
    };
    let header = header.as_str().ok_or_else(|| wrong("must be a text"))?;
    let mut key = None;
    for piece in header.split_inclusive('}') {
        let (marker, slot) = match piece.strip_suffix('}').and_then(|piece| piece.split_once('{')) {
            Some((marker, slot)) => (marker, Some(slot)),
            None => (piece, None),
        };
        let at = match slot {
            Some("role") if key.is_none() => "start",
            Some("role") => return Err(wrong("`{role}` must be the first slot")),
            Some(slot @ ("channel" | "to" | "type")) if key.is_some() => slot,
            Some("channel" | "to" | "type") => return Err(wrong("`{role}` must be the first slot")),
            Some(other) => {
                let (key, told) = wrong(&format!("unknown slot `{{{other}}}`"));
                let near = did_you_mean(&near(other, ["role", "channel", "to", "type"]));
                return Err((key, Explanation { hint: near.or(told.hint), ..told }));
            }
            None => "body",
        };
        channels.insert(at.into(), Value::String(marker.trim().to_owned()));
        key = Some(at);
    }
    match key {
        Some("body") => Ok(()),
        _ => Err(wrong("no marker begins the body")),
    }
}

/// If a recipient is a function, a message is read by its header, so further templates of a call are only for grammars.
fn further_calls(table: &mut Table) {
    if section(table, "channels").is_none_or(|channels| !channels.contains_key("calls")) {
        return;
    }
    let Some(calls) =
        section(table, "tools").and_then(|tools| texts(tools.get("call"))).filter(|calls| calls.len() > 1)
    else {
        return;
    };
    let (first, further) = calls.split_at(1);
    put(table, "tools", "call", list(first.iter().cloned()));
    put(table, "grammar", "calls", list(further.iter().cloned()));
}

/// Objects in the templates of calls.
fn envelope(table: &mut Table) -> Result<(), Fault> {
    let Some(tools) = section(table, "tools") else { return Ok(()) };
    let Some(calls) = texts(tools.get("call")) else { return Ok(()) };
    let key = |i: usize| if calls.len() > 1 { format!("tools.call.{i}") } else { "tools.call".to_owned() };
    let mut written: Vec<String> = Vec::new();
    let mut found: Vec<(usize, Unfolded)> = Vec::new();
    for (i, call) in calls.iter().enumerate() {
        match unfold(call).map_err(|told| (key(i), told))? {
            Some(unfolded) => {
                written.push(unfolded.template.clone());
                found.push((i, unfolded));
            }
            None => written.push(call.clone()),
        }
    }
    let Some((_, first)) = found.first() else { return Ok(()) };
    if let Some((i, _)) = found.iter().find(|(_, other)| other.keys != first.keys) {
        let told = Explanation::new("another object than in the first template", "give all templates the same keys");
        return Err((key(*i), told));
    }
    let bare = found.iter().any(|(_, unfolded)| unfolded.bare) && !tools.contains_key("block");
    let words = described(&found, bare);
    tools.insert("call".into(), list(written));
    tools.insert("written".into(), list(calls));
    let said: Vec<String> =
        section(tools, "envelope").into_iter().flat_map(|envelope| envelope.keys().cloned()).collect();
    // The former keys in a file stay.
    for (key, value) in words.into_iter().filter(|(key, _)| !said.contains(key)) {
        put(tools, "envelope", &key, value);
    }
    Ok(())
}

/// The keys that describe the objects.
fn described(found: &[(usize, Unfolded)], bare: bool) -> Vec<(String, Value)> {
    let lists = |listed: Listed| found.iter().any(|(_, unfolded)| unfolded.listed == listed);
    let container = match (lists(Listed::Never), lists(Listed::Always), lists(Listed::Maybe)) {
        (true, false, false) => "object",
        (false, true, false) => "array",
        _ => "either",
    };
    let Keys { name, id, arguments } = &found[0].1.keys;
    let mut words = vec![("container".to_owned(), Value::String(container.to_owned()))];
    match (name, arguments) {
        (Some(name), Some(arguments)) => {
            // Models confuse the two.
            let mut all = vec![arguments.clone()];
            all.extend(["arguments", "parameters"].map(str::to_owned).into_iter().filter(|key| key != arguments));
            words.push(("name".to_owned(), list([name.clone()])));
            words.push(("arguments".to_owned(), list(all)));
            words.extend(id.clone().map(|id| ("id".to_owned(), list([id]))));
        }
        _ => words.push(("shape".to_owned(), Value::String("key".to_owned()))),
    }
    if bare {
        // Without a marker a JSON answer may look like a call, so the arguments' key is required.
        words.push(("commit".to_owned(), Value::String("arguments".to_owned())));
    }
    words
}

/// `tools.values`: what untyped text may be, and what decides it.
fn values(table: &mut Table) -> Result<(), Fault> {
    let Some(tools) = section(table, "tools") else { return Ok(()) };
    for word in taken(tools, "values", "tools.values", &["json", "python", "schema"])? {
        match word.as_str() {
            "json" => set(tools, "silent", "json"),
            "python" => {
                tools.insert("python".into(), Value::Boolean(true));
            }
            _ => {
                put(tools, "params", "typed", text("schema"));
                put(tools, "literals", "delimited", text("untyped"));
            }
        }
    }
    Ok(())
}

/// `tools.params.encoding`: how parameters encode text.
fn encoding(table: &mut Table) -> Result<(), Fault> {
    let Some(params) = section(table, "tools").and_then(|tools| section(tools, "params")) else { return Ok(()) };
    for word in taken(params, "encoding", "tools.params.encoding", &["xml", "xml-names", "byte-marks"])? {
        match word.as_str() {
            "xml" => set(params, "escape", "xml"),
            "xml-names" => set(params, "attr", "xml"),
            _ => {
                params.insert("marks".into(), Value::Boolean(true));
            }
        }
    }
    Ok(())
}

/// `tools.loose`: optional white space.
fn loose(table: &mut Table) -> Result<(), Fault> {
    let Some(tools) = section(table, "tools") else { return Ok(()) };
    if tools.get("loose").is_some_and(Value::is_bool) {
        return Ok(());
    }
    let words = taken(tools, "loose", "tools.loose", &["blanks", "breaks"])?;
    if words.iter().any(|word| word == "blanks") {
        tools.insert("loose".into(), Value::Boolean(true));
    }
    if words.iter().any(|word| word == "breaks") {
        put(table, "grammar", "spellings", list(["written", "compact"].map(str::to_owned)));
    }
    Ok(())
}

/// For nested elements, `tools.param` is one element.
fn element(table: &mut Table) {
    let Some(tools) = section(table, "tools") else { return };
    let is_nested = texts(tools.get("call")).is_some_and(|calls| calls.iter().any(|call| call.contains("{elements}")));
    let Some(param) = texts(tools.get("param")).and_then(|texts| texts.into_iter().next()).filter(|_| is_nested) else {
        return;
    };
    if let Some((open, close)) = param.split_once("{value}") {
        tools.remove("param");
        put(tools, "elements", "open", text(open));
        put(tools, "elements", "close", text(close));
    }
}

/// If a turn begins in a header and there is no `[channels]`, the turn's own marker opens it.
fn header_of_turns(table: &mut Table) {
    if table.contains_key("channels") {
        return;
    }
    let marker = section(table, "start")
        .filter(|start| start.get("state").and_then(Value::as_str) == Some("header"))
        .and_then(|start| texts(start.get("turn"))?.into_iter().next());
    let is_said = section(table, "content").is_some_and(|content| content.contains_key("header"));
    if let Some(marker) = marker.filter(|_| !is_said) {
        put(table, "content", "header", Value::String(marker));
    }
}

/// `switches.effort`: values with a leading `!` mean off; if there are others, only those are allowed.
fn effort(table: &mut Table) {
    let Some(switches) = section(table, "switches") else { return };
    let Some(efforts) = texts(switches.get("effort")) else { return };
    let (off, on): (Vec<String>, Vec<String>) = efforts.into_iter().partition(|effort| effort.starts_with('!'));
    if off.is_empty() {
        return;
    }
    let off: Vec<String> = off.iter().map(|effort| effort[1..].to_owned()).collect();
    let allowed = if on.is_empty() { on } else { [on, off.clone()].concat() };
    switches.insert("effort".into(), list(allowed));
    switches.insert("effort_off".into(), list(off));
}

/// Removes a list and returns its entries; an unknown entry is an error.
fn taken(table: &mut Table, key: &str, path: &str, known: &[&str]) -> Result<Vec<String>, Fault> {
    let hint = || format!("known are {}", known.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "));
    let fault = |what: String| (path.to_owned(), Explanation::new(what, hint()));
    let Some(value) = table.remove(key) else { return Ok(Vec::new()) };
    let words = texts(Some(&value)).ok_or_else(|| fault("must be a text or a list of texts".to_owned()))?;
    match words.iter().find(|word| !known.contains(&word.as_str())) {
        Some(word) => Err(fault(format!("unknown word `{word}`"))),
        None => Ok(words),
    }
}

fn set(table: &mut Table, key: &str, text: &str) {
    table.insert(key.into(), Value::String(text.into()));
}

fn list(texts: impl IntoIterator<Item = String>) -> Value {
    Value::Array(texts.into_iter().map(Value::String).collect())
}

/// One text or a list of texts; `None`: anything else, which is reported when the keys are parsed.
fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    match value? {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(list) => list.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

fn section<'t>(table: &'t mut Table, key: &str) -> Option<&'t mut Table> {
    table.get_mut(key).and_then(Value::as_table_mut)
}

/// Sets a key in an inner table, which is created if missing. A value that is not a table is reported when the keys are
/// parsed.
fn put(table: &mut Table, section: &str, key: &str, value: Value) {
    let inside = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(inside) = inside {
        inside.insert(key.to_owned(), value);
    }
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> Table {
        let mut table: Table = toml::from_str(text).unwrap();
        rewrite(&mut table).unwrap();
        table
    }

    fn same(today: &str, apart: &str) {
        let expected: Table = toml::from_str(apart).unwrap();
        assert_eq!(rewritten(today), expected, "{today}");
    }

    #[test]
    fn words_that_say_several_things_are_taken_apart() {
        same("tools.values = [\"json\", \"python\"]", "tools = { silent = \"json\", python = true }");
        same("tools.values = \"schema\"", "tools = { params.typed = \"schema\", literals.delimited = \"untyped\" }");
        same("tools.params.encoding = [\"xml\", \"byte-marks\"]", "tools.params = { escape = \"xml\", marks = true }");
        same("tools.params.encoding = \"xml-names\"", "tools.params.attr = \"xml\"");
        let breaks = "tools = {}\ngrammar.spellings = [\"written\", \"compact\"]";
        same("tools.loose = [\"breaks\"]", breaks);
        same("tools.loose = [\"blanks\", \"breaks\"]", &breaks.replace("{}", "{ loose = true }"));
        same("reasoning.unanswered = \"k\"", "reasoning = {}\ncutoff.unanswered = \"k\"");
        same("switches.effort = [\"!none\"]", "switches = { effort = [], effort_off = [\"none\"] }");
        same(
            "switches.effort = [\"high\", \"!none\"]",
            "switches = { effort = [\"high\", \"none\"], effort_off = [\"none\"] }",
        );
        same("switches.effort = [\"high\"]", "switches.effort = [\"high\"]");
        same(
            "[[detect]]\ntemplate = [\"a\", \"!b\"]\n[[detect]]\ntemplate = \"c\"",
            "[[detect]]\ntemplate = [\"a\"]\nlacks = [\"b\"]\n[[detect]]\ntemplate = [\"c\"]",
        );
    }

    #[test]
    fn headers_give_their_markers() {
        same(
            "channels.header = \"<s>{role}<c>{channel} to={to} <t>{type}<b>\"",
            "channels = { start = \"<s>\", channel = \"<c>\", to = \"to=\", type = \"<t>\", body = \"<b>\" }",
        );
        same(
            "start = { state = \"header\", turn = [\"<m>\", \"<n>\"] }",
            "start = { state = \"header\", turn = [\"<m>\", \"<n>\"] }\ncontent.header = \"<m>\"",
        );
        for (header, what) in [
            ("<s>{role}", "no marker begins the body"),
            ("<c>{channel}<s>{role}<b>", "`{role}` must be the first"),
            ("<s>{role}<c>{chanel}<b>", "unknown slot `{chanel}`"),
        ] {
            let mut table: Table = toml::from_str(&format!("channels.header = \"{header}\"")).unwrap();
            let (key, told) = rewrite(&mut table).unwrap_err();
            assert!(key == "channels.header" && told.message.starts_with(what), "{header}: {told:?}");
            let near = told.hint.as_deref().is_some_and(|hint| hint.contains("did you mean `channel`?"));
            assert_eq!(near, header.contains("chanel"), "{told:?}");
        }
    }

    #[test]
    fn calls_give_their_envelope() {
        let envelope = |text: &str| rewritten(text)["tools"]["envelope"].to_string();
        let object = envelope("tools.call = '<c>{\"do\": {name}, \"with\": {json}}'");
        for piece in
            ["container = \"object\"", "name = [\"do\"]", "arguments = [\"with\", \"arguments\", \"parameters\"]"]
        {
            assert!(object.contains(piece), "{piece} in {object}");
        }
        assert!(!object.contains("commit"), "{object}");
        assert!(envelope("tools.call = \"[{envelope}]\"").contains("commit = \"arguments\""));
        assert!(!envelope("tools = { call = \"[{envelope}]\", block = \"<b>{calls}</b>\" }").contains("commit"));
        assert!(envelope("tools.call = [\"<a>{envelope}\", \"<b>[{envelope}]\"]").contains("container = \"either\""));
        assert!(envelope("tools.call = \"<a>{{name}: {json}}\"").contains("shape = \"key\""));
        // The former keys stay in effect.
        let old = envelope("tools = { call = \"<a>{envelope}\", envelope.container = \"array\" }");
        assert!(old.contains("container = \"array\""), "{old}");
        let mut table: Table =
            toml::from_str("tools.call = [\"<a>{envelope}\", '<b>{\"do\": {name}, \"with\": {json}}']").unwrap();
        assert_eq!(rewrite(&mut table).unwrap_err().0, "tools.call.1");
    }

    #[test]
    fn one_element_gives_its_tags() {
        let tools = rewritten("tools = { call = \"<f>{name}</f>{elements}\", param = \"<{key}>{value}</{key}>\" }");
        let elements: Table = toml::from_str("open = \"<{key}>\"\nclose = \"</{key}>\"").unwrap();
        assert_eq!(tools["tools"]["elements"], Value::Table(elements));
        assert!(tools["tools"].get("param").is_none());
    }

    #[test]
    fn an_unknown_word_of_a_list_is_told() {
        for (text, key) in [
            ("tools.values = [\"yaml\"]", "tools.values"),
            ("tools.params.encoding = [\"html\"]", "tools.params.encoding"),
            ("tools.loose = [\"tabs\"]", "tools.loose"),
        ] {
            let mut table: Table = toml::from_str(text).unwrap();
            let (found, told) = rewrite(&mut table).unwrap_err();
            assert!(found == key && told.hint.is_some_and(|hint| hint.starts_with("known are `")), "{text}");
        }
    }
}
