//! Structural tags by themselves: which texts one admits, and random texts of it. The nodes are read as xgrammar 0.2.8
//! documents and shows them; nothing of it is shared with what writes our tags.
//!
//! Corrections of a tag may use words that xgrammar does not have: see [`params`].

mod json;
mod params;
mod sample;

use std::collections::BTreeSet;

use serde_json::Value;

pub(crate) use sample::Samples;

/// Places in a text.
type Ends = BTreeSet<usize>;

/// A text that a tag may admit.
struct Reader<'t> {
    text: &'t str,
}

/// Whether a tag admits a text.
pub(crate) fn admits(tag: &Value, text: &str) -> bool {
    let reader = Reader { text };
    reader.ends(&tag["format"], 0, &[]).contains(&text.len())
}

/// The strings of a list.
fn texts(node: &Value, key: &str) -> Vec<String> {
    match &node[key] {
        Value::Array(all) => all.iter().map(|v| v.as_str().unwrap().to_owned()).collect(),
        Value::String(one) => vec![one.clone()],
        _ => Vec::new(),
    }
}

/// How often a node may come.
fn times(node: &Value) -> (usize, usize) {
    let number = |key: &str| node[key].as_i64().map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    match node["type"].as_str().unwrap() {
        "optional" => (0, 1),
        "star" => (0, usize::MAX),
        "plus" => (1, usize::MAX),
        _ => (number("min").unwrap(), number("max").unwrap()),
    }
}

impl Reader<'_> {
    /// Where texts of a node may end that begin at a place. `stops`: what free text in it must not have.
    fn ends(&self, node: &Value, at: usize, stops: &[String]) -> Ends {
        match node["type"].as_str().unwrap() {
            "const_string" => self.literal(node["value"].as_str().unwrap(), at),
            "any_text" => self.free(at, &[texts(node, "excludes"), stops.to_vec()].concat()),
            "regex" => self.regex(node["pattern"].as_str().unwrap(), at),
            "json_schema" => self.schema(node, at),
            "sequence" => {
                let all = node["elements"].as_array().unwrap();
                all.iter().fold(Ends::from([at]), |from, one| self.behind(&from, |at| self.ends(one, at, stops)))
            }
            "or" => node["elements"].as_array().unwrap().iter().flat_map(|one| self.ends(one, at, stops)).collect(),
            "tag" => self.tag(node, at),
            "tags_with_separator" => self.separated(node, at),
            "triggered_tags" => self.triggered(node, at, stops),
            _ => self.repeated(node, at, stops),
        }
    }

    fn behind(&self, from: &Ends, next: impl Fn(usize) -> Ends) -> Ends {
        from.iter().flat_map(|at| next(*at)).collect()
    }

    fn literal(&self, literal: &str, at: usize) -> Ends {
        self.text[at..].starts_with(literal).then_some(at + literal.len()).into_iter().collect()
    }

    /// All places up to the first literal that a text must not have.
    fn free(&self, at: usize, without: &[String]) -> Ends {
        let rest = &self.text[at..];
        let first = without.iter().filter_map(|l| Some(rest.find(l.as_str())? + l.len())).min();
        let most = first.map_or(rest.len(), |end| end - 1);
        (0..=most).filter(|i| rest.is_char_boundary(*i)).map(|i| at + i).collect()
    }

    fn regex(&self, pattern: &str, at: usize) -> Ends {
        let regex = fancy_regex::Regex::new(&format!("^(?:{pattern})$")).unwrap();
        let rest = &self.text[at..];
        let places = (0..=rest.len()).filter(|i| rest.is_char_boundary(*i));
        places.filter(|i| regex.is_match(&rest[..*i]).unwrap()).map(|i| at + i).collect()
    }

    fn repeated(&self, node: &Value, at: usize, stops: &[String]) -> Ends {
        let (least, most) = times(node);
        let mut out = Ends::new();
        let mut from = Ends::from([at]);
        for count in 0.. {
            if count >= least {
                let seen = out.len();
                out.extend(&from);
                if out.len() == seen {
                    break;
                }
            }
            if count == most {
                break;
            }
            from = self.behind(&from, |at| self.ends(&node["content"], at, stops));
        }
        out
    }

    fn tag(&self, node: &Value, at: usize) -> Ends {
        let ends = texts(node, "end");
        let stops: Vec<String> = ends.iter().filter(|e| !e.is_empty()).cloned().collect();
        let begun = self.literal(node["begin"].as_str().unwrap(), at);
        let inside = self.behind(&begun, |at| self.ends(&node["content"], at, &stops));
        ends.iter().flat_map(|end| self.behind(&inside, |at| self.literal(end, at))).collect()
    }

    fn one_of(&self, node: &Value, at: usize) -> Ends {
        node["tags"].as_array().unwrap().iter().flat_map(|tag| self.tag(tag, at)).collect()
    }

    fn separated(&self, node: &Value, at: usize) -> Ends {
        let separator = node["separator"].as_str().unwrap();
        let mut out = if node["at_least_one"] == true { Ends::new() } else { Ends::from([at]) };
        let mut from = self.one_of(node, at);
        while !from.is_subset(&out) {
            out.extend(&from);
            if node["stop_after_first"] == true {
                break;
            }
            let apart = self.behind(&from, |at| self.literal(separator, at));
            from = self.behind(&apart, |at| self.one_of(node, at));
        }
        out
    }

    /// Free text, and wherever it has a trigger, one of the tags.
    fn triggered(&self, node: &Value, at: usize, stops: &[String]) -> Ends {
        let triggers = texts(node, "triggers");
        let without = [texts(node, "excludes"), stops.to_vec(), triggers.clone()].concat();
        let once = node["stop_after_first"] == true;
        let mut out = Ends::new();
        let mut from = Ends::from([at]);
        let mut must = node["at_least_one"] == true;
        let mut seen = Ends::new();
        while !from.is_empty() {
            let places = if must { from.clone() } else { self.behind(&from, |at| self.free(at, &without)) };
            if !must {
                out.extend(&places);
            }
            let begins = |at: &&usize| triggers.iter().any(|t| self.text[**at..].starts_with(t.as_str()));
            from = places.iter().filter(begins).flat_map(|at| self.one_of(node, *at)).collect();
            if once {
                out.extend(&from);
                break;
            }
            from.retain(|at| seen.insert(*at));
            must = false;
        }
        out
    }

    fn schema(&self, node: &Value, at: usize) -> Ends {
        match node["style"].as_str() {
            None | Some("json") => self.json(node, at),
            Some(style) => self.params(style, node, at),
        }
    }
}
