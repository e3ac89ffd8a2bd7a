//! Calls written as a JSON object in a template: `{"name": {name}, "arguments": {json}}`.

use super::template::Slot;
use crate::explanation::Explanation;

/// A template with its object replaced by `{envelope}`, and the object's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unfolded {
    pub(super) template: String,
    /// Keys of name, id and arguments; empty for `{NAME: ARGUMENTS}`.
    pub(super) keys: Keys,
    pub(super) listed: Listed,
    /// Nothing precedes the object.
    pub(super) bare: bool,
}

/// Whether the object is in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listed {
    Never,
    Always,
    Maybe,
}

/// Keys of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) name: Option<String>,
    pub(super) id: Option<String>,
    pub(super) arguments: Option<String>,
}

impl Keys {
    fn usual() -> Self {
        Self { name: Some("name".into()), id: None, arguments: Some("arguments".into()) }
    }
}

/// Parses a template of a call; `None`: it has no object and no `{envelope}`.
pub(super) fn unfold(template: &str) -> Result<Option<Unfolded>, Explanation> {
    let mut at = 0;
    while let Some(open) = template[at..].find('{').map(|i| at + i) {
        let inside = template[open + 1..].trim_start();
        let end = match template[open..].strip_prefix("{envelope}") {
            Some(rest) => Some((template.len() - rest.len(), Keys::usual())),
            None if inside.starts_with('"') || inside.starts_with("{name}") => Some(object(template, open)?),
            None => None,
        };
        if let Some((end, keys)) = end {
            return Ok(Some(framed(&template[..open], &template[end..], keys)));
        }
        at = template[open..].find('}').map_or(template.len(), |i| open + i + 1);
    }
    Ok(None)
}

/// The template around its object: brackets on both sides make a list, brackets in `{?…}` an optional one.
fn framed(before: &str, after: &str, keys: Keys) -> Unfolded {
    let forms = [("{?[}", "{?]}", Listed::Maybe), ("[", "]", Listed::Always)];
    let list = forms
        .iter()
        .find_map(|(open, close, listed)| Some((before.strip_suffix(open)?, after.strip_prefix(close)?, *listed)));
    let (before, after, listed) = list.unwrap_or((before, after, Listed::Never));
    Unfolded { template: format!("{before}{{envelope}}{after}"), keys, listed, bare: before.trim().is_empty() }
}

/// Parses the object that opens at `open`; returns its end.
fn object(template: &str, open: usize) -> Result<(usize, Keys), Explanation> {
    let fault = |what: &str| {
        Explanation::new(
            format!("{what} in the object of template {template:?}"),
            "write `{\"name\": {name}, \"arguments\": {json}}`, with the keys that the model writes, or `{{name}: {json}}`",
        )
    };
    let mut rest = template[open + 1..].trim_start();
    let mut keys = Keys::default();
    let mut seen: Vec<Slot> = Vec::new();
    loop {
        let key = match rest.strip_prefix("{name}") {
            Some(after) => {
                rest = after;
                None
            }
            None => {
                let inner = rest.strip_prefix('"').ok_or_else(|| fault("no key"))?;
                let (key, after) = inner.split_once('"').ok_or_else(|| fault("a key without its closing quote"))?;
                rest = after;
                Some(key.to_owned())
            }
        };
        rest = rest.trim_start().strip_prefix(':').ok_or_else(|| fault("no colon"))?.trim_start();
        let (slot, after) = rest
            .strip_prefix('{')
            .and_then(|inner| inner.split_once('}'))
            .and_then(|(name, after)| Some((Slot::named(name)?, after)))
            .ok_or_else(|| fault("no slot behind a key"))?;
        rest = after.trim_start();
        match (slot, key) {
            (Slot::Json, None) => seen.push(Slot::Name),
            (Slot::Json, key) => keys.arguments = key,
            (Slot::Name, Some(key)) => keys.name = Some(key),
            (Slot::Id, Some(key)) => keys.id = Some(key),
            _ => return Err(fault(&format!("`{{{}}}`", slot.name()))),
        }
        if seen.contains(&slot) {
            return Err(fault(&format!("`{{{}}}` twice", slot.name())));
        }
        seen.push(slot);
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None => break,
        }
    }
    let after = rest.strip_prefix('}').ok_or_else(|| fault("no closing brace"))?;
    for slot in [Slot::Name, Slot::Json] {
        if !seen.contains(&slot) {
            return Err(fault(&format!("no `{{{}}}`", slot.name())));
        }
    }
    Ok((template.len() - after.len(), keys))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(template: &str) -> Unfolded {
        unfold(template).unwrap().unwrap()
    }

    fn keys(name: &str, id: Option<&str>, arguments: &str) -> Keys {
        Keys { name: Some(name.into()), id: id.map(str::to_owned), arguments: Some(arguments.into()) }
    }

    #[test]
    fn an_object_is_an_envelope() {
        let read_one = read("<c>\n{\"do\": {name}, \"with\": {json}, \"no\": {id}}\n</c>");
        assert_eq!(read_one.template, "<c>\n{envelope}\n</c>");
        assert_eq!((read_one.keys, read_one.listed), (keys("do", Some("no"), "with"), Listed::Never));
        assert!(!read_one.bare);
        let shape = read("{?x}[ { {name} : {json} } ]".replace("[ ", "[").replace(" ]", "]").as_str());
        assert_eq!(
            (shape.template.as_str(), shape.keys, shape.listed),
            ("{?x}{envelope}", Keys::default(), Listed::Always)
        );
        let maybe = read("{?[}{envelope}{?]}");
        assert_eq!((maybe.template.as_str(), maybe.keys, maybe.listed), ("{envelope}", Keys::usual(), Listed::Maybe));
        assert!(maybe.bare);
        assert_eq!(unfold("<c>{name}{json}</c>"), Ok(None));
        assert_eq!(read("[X] {envelope}").listed, Listed::Never);
    }

    #[test]
    fn what_is_wrong_with_an_object_is_told() {
        for (template, what) in [
            ("{\"name\": {name}}", "no `{json}`"),
            ("{\"arguments\": {json}}", "no `{name}`"),
            ("{\"name\" {name}, \"arguments\": {json}}", "no colon"),
            ("{\"name\": 3, \"arguments\": {json}}", "no slot"),
            ("{\"name\": {name}, \"arguments\": {params}}", "`{params}`"),
            ("{\"name\": {name}, \"arguments\": {json}", "no closing brace"),
            ("{\"name\": {name}, \"n\": {name}, \"arguments\": {json}}", "`{name}` twice"),
        ] {
            let told = unfold(template).unwrap_err();
            assert!(told.message.starts_with(what) && told.hint.is_some(), "{template}: {told:?}");
        }
    }
}
