//! The keywords of a schema, one level deep.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Keywords that do not constrain values, and those for references.
const ASIDE: [&str; 13] = [
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "$schema",
    "$id",
    "$defs",
    "definitions",
];

/// Whether a keyword constrains values.
pub(super) fn counts(word: &str) -> bool {
    !ASIDE.contains(&word)
}

/// The keywords of one schema, or of several that all apply. It borrows: nothing below is copied.
#[derive(Debug, Clone, Default)]
pub(in crate::grammar) struct View<'a> {
    words: Vec<(&'a str, Word<'a>)>,
    /// Its schema, if it is exactly one.
    source: Option<&'a Value>,
}

#[derive(Debug, Clone)]
enum Word<'a> {
    Said(&'a Value),
    /// Members of several schemas.
    Members(Vec<(&'a str, &'a Value)>),
    /// A list of several schemas.
    List(Vec<&'a Value>),
}

impl<'a> View<'a> {
    /// The keywords of a schema that is an object.
    pub(super) fn of(schema: &'a Value) -> Option<Self> {
        let map = schema.as_object()?;
        let words = map.iter().filter(|(key, _)| counts(key)).map(|(key, value)| (key.as_str(), Word::Said(value)));
        Some(Self { words: words.collect(), source: Some(schema) })
    }

    /// Number of its keywords and listed members.
    pub(super) fn len(&self) -> usize {
        let of = |word: &Word<'_>| match word {
            Word::Said(_) => 1,
            Word::Members(all) => 1 + all.len(),
            Word::List(all) => 1 + all.len(),
        };
        self.words.iter().map(|(_, word)| of(word)).sum()
    }

    /// Whether it has no constraints.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Its schema, if it is exactly one.
    pub(in crate::grammar) fn source(&self) -> Option<&'a Value> {
        self.source
    }

    /// The value of a keyword in a single schema.
    pub(in crate::grammar) fn get(&self, key: &str) -> Option<&'a Value> {
        match self.word(key)? {
            Word::Said(value) => Some(value),
            _ => None,
        }
    }

    /// Whether it has a keyword.
    pub(in crate::grammar) fn has(&self, key: &str) -> bool {
        self.word(key).is_some()
    }

    fn word(&self, key: &str) -> Option<&Word<'a>> {
        self.words.iter().find(|(own, _)| *own == key).map(|(_, word)| word)
    }

    /// Removes a keyword.
    pub(super) fn remove(&mut self, key: &str) -> Option<&'a Value> {
        let at = self.words.iter().position(|(own, _)| *own == key)?;
        match self.words.remove(at).1 {
            Word::Said(value) => {
                self.source = None;
                Some(value)
            }
            _ => None,
        }
    }

    /// The members that it describes.
    pub(in crate::grammar) fn members(&self) -> Vec<(&'a str, &'a Value)> {
        match self.word("properties") {
            Some(Word::Said(Value::Object(map))) => map.iter().map(|(key, value)| (key.as_str(), value)).collect(),
            Some(Word::Members(all)) => all.clone(),
            _ => Vec::new(),
        }
    }

    /// The items of a list.
    fn list(&self, key: &str) -> Vec<&'a Value> {
        match self.word(key) {
            Some(Word::Said(Value::Array(all))) => all.iter().collect(),
            Some(Word::List(all)) => all.clone(),
            _ => Vec::new(),
        }
    }

    /// The required keys of an object.
    pub(in crate::grammar) fn required(&self) -> Vec<&'a str> {
        self.list("required").into_iter().filter_map(Value::as_str).collect()
    }

    /// The names of its types.
    pub(super) fn types(&self) -> Vec<&'a str> {
        match self.word("type") {
            Some(Word::Said(Value::String(name))) => vec![name],
            _ => self.list("type").into_iter().filter_map(Value::as_str).collect(),
        }
    }

    /// The allowed values; empty: they are not listed.
    pub(super) fn values(&self) -> Vec<&'a Value> {
        match self.get("const") {
            Some(value) => vec![value],
            None => self.list("enum"),
        }
    }

    /// A size, such as `minLength`.
    pub(in crate::grammar) fn size(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(Value::as_u64)
    }

    /// Whether it has constraints beyond its type.
    pub(in crate::grammar) fn is_bounded(&self) -> bool {
        self.words.iter().any(|(key, _)| !matches!(*key, "type" | "nullable"))
    }

    /// Both apply: members and requirements add up, for other keywords the second counts. `None`: contradictory.
    pub(super) fn merged(mut self, other: &'a Value) -> Option<Self> {
        let Some(other) = Self::of(other) else { return (*other != Value::Bool(false)).then_some(self) };
        if self.is_empty() {
            return Some(other);
        }
        self.source = None;
        for (key, word) in other.words {
            let Some(at) = self.words.iter().position(|(own, _)| *own == key) else {
                self.words.push((key, word));
                continue;
            };
            let both = match key {
                "properties" => add_members(&self.words[at].1, &word),
                "required" => add_names(&self.words[at].1, &word),
                "enum" | "type" => common(&self.words[at].1, &word),
                _ => None,
            };
            self.words[at].1 = both.unwrap_or(word);
        }
        Some(self)
    }

    /// Its identity: the addresses of its keywords.
    pub(super) fn identity(&self) -> Vec<usize> {
        let at = |value: &Value| std::ptr::from_ref(value).addr();
        let mut all = Vec::new();
        for (key, word) in &self.words {
            all.push(key.as_ptr().addr());
            match word {
                Word::Said(value) => all.push(at(value)),
                Word::Members(members) => all.extend(members.iter().map(|(_, value)| at(value))),
                Word::List(items) => all.extend(items.iter().map(|value| at(value))),
            }
        }
        all
    }

    /// Its keywords from single schemas.
    pub(super) fn said(&self) -> impl Iterator<Item = (&'a str, &'a Value)> + '_ {
        self.words.iter().filter_map(|(key, word)| match word {
            Word::Said(value) => Some((*key, *value)),
            _ => None,
        })
    }

    /// The values of its keywords.
    pub(super) fn below(&self) -> Vec<&'a Value> {
        let of = |word: &Word<'a>| match word {
            Word::Said(value) => vec![*value],
            Word::Members(all) => all.iter().map(|(_, value)| *value).collect(),
            Word::List(all) => all.clone(),
        };
        self.words.iter().flat_map(|(_, word)| of(word)).collect()
    }

    /// Its keywords, merged from several schemas.
    pub(super) fn words(&self) -> impl Iterator<Item = (&'a str, Value)> + '_ {
        self.words.iter().map(|(key, word)| {
            let value = match word {
                Word::Said(value) => (*value).clone(),
                Word::Members(all) => {
                    all.iter().map(|(k, v)| ((*k).to_owned(), (*v).clone())).collect::<Map<_, _>>().into()
                }
                Word::List(all) => all.iter().copied().cloned().collect::<Vec<_>>().into(),
            };
            (*key, value)
        })
    }

    /// The schema of one of its types.
    pub(in crate::grammar) fn of_type(&self, name: &str) -> Value {
        let mut map = Map::new();
        for (key, value) in self.words().filter(|(key, _)| *key != "nullable") {
            map.insert(key.to_owned(), if key == "type" { name.into() } else { value });
        }
        map.insert("type".to_owned(), name.into());
        Value::Object(map)
    }
}

fn members<'a>(word: &Word<'a>) -> Option<Vec<(&'a str, &'a Value)>> {
    match word {
        Word::Said(Value::Object(map)) => Some(map.iter().map(|(key, value)| (key.as_str(), value)).collect()),
        Word::Members(all) => Some(all.clone()),
        _ => None,
    }
}

fn items<'a>(word: &Word<'a>) -> Option<Vec<&'a Value>> {
    match word {
        Word::Said(Value::Array(all)) => Some(all.iter().collect()),
        Word::List(all) => Some(all.clone()),
        _ => None,
    }
}

fn add_members<'a>(known: &Word<'a>, more: &Word<'a>) -> Option<Word<'a>> {
    let (mut known, more) = (members(known)?, members(more)?);
    let mut places: HashMap<&str, usize> = known.iter().enumerate().map(|(at, (key, _))| (*key, at)).collect();
    for (key, value) in more {
        match places.get(key) {
            Some(at) => known[*at].1 = value,
            None => {
                places.insert(key, known.len());
                known.push((key, value));
            }
        }
    }
    Some(Word::Members(known))
}

fn add_names<'a>(known: &Word<'a>, more: &Word<'a>) -> Option<Word<'a>> {
    let (mut known, more) = (items(known)?, items(more)?);
    let mut seen: std::collections::HashSet<&Value> = known.iter().copied().collect();
    known.extend(more.into_iter().filter(|name| seen.insert(name)));
    Some(Word::List(known))
}

fn common<'a>(known: &Word<'a>, more: &Word<'a>) -> Option<Word<'a>> {
    let more: std::collections::HashSet<&Value> = items(more)?.into_iter().collect();
    let mut known = items(known)?;
    known.retain(|value| more.contains(value));
    Some(Word::List(known))
}
