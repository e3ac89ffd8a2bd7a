//! Detects the format of a checkpoint from its own files, by the `[[detect]]` rules of all format files.

use std::fmt;

use crate::error::{Error, ErrorKind};
use crate::format::detect::Detect;
use crate::registry::{Registry, rules_of};
use crate::setup::Half;

/// The known facts about a checkpoint. A condition on an unknown fact does not hold. This module reads no files: the
/// caller passes their contents.
#[derive(Clone, Copy, Default)]
pub struct Checkpoint<'a> {
    /// The source of the chat template for requests with tools; `None`: it has none, or it is unknown.
    pub template: Option<&'a str>,
    /// Whether a text is one entry of the vocabulary; `None`: the vocabulary is unknown.
    pub has_token: Option<&'a dyn Fn(&str) -> bool>,
    /// `model_type` of the model's configuration, and its `architectures`.
    pub model_types: &'a [&'a str],
}

impl fmt::Debug for Checkpoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoint")
            .field("template", &self.template.map(str::len))
            .field("has_token", &self.has_token.is_some())
            .field("model_types", &self.model_types)
            .finish()
    }
}

/// A name detected from a checkpoint's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    /// The name.
    pub name: String,
    /// The evidence, as text.
    pub why: String,
}

/// The evidence of a rule: the template's markers decide, then the model's type, then the vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Weight {
    template: usize,
    model_type: bool,
    tokens: usize,
}

impl Registry {
    /// Detects the name of a half from a checkpoint's files. Of several matching rules, the one with the most texts in
    /// the template counts, then one with the model's type, then the one with the most tokens.
    ///
    /// # Errors
    /// [`ErrorKind::Unsure`]: no rule matches, or the best match is ambiguous; the message lists the candidates. A
    /// format file that cannot be read.
    pub fn detect(&self, half: Half, checkpoint: &Checkpoint<'_>) -> Result<Detected, Error> {
        let mut candidates: Vec<(Weight, String, String)> = Vec::new();
        for rule in self.rules()? {
            let name = match half {
                Half::Reasoning => rule.reasoning.as_ref(),
                Half::Tools => rule.tools.as_ref(),
            };
            let (Some(name), Some(weight)) = (name, weight(&rule, checkpoint)) else { continue };
            let candidate = (weight, name.clone(), why(&rule, weight, checkpoint));
            match candidates.iter_mut().find(|(_, known, _)| known == name) {
                Some(known) if known.0 < weight => *known = candidate,
                Some(_) => {}
                None => candidates.push(candidate),
            }
        }
        candidates.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        match candidates.as_slice() {
            [] => Err(unknown(half, checkpoint)),
            [best, second, ..] if best.0 == second.0 => Err(undecided(half, &candidates)),
            [(_, name, why), ..] => Ok(Detected { name: name.clone(), why: why.clone() }),
        }
    }

    fn rules(&self) -> Result<Vec<Detect>, Error> {
        let mut rules = Vec::new();
        for source in self.sources()? {
            rules.extend(rules_of(&source)?);
        }
        Ok(rules)
    }
}

/// The evidence of a rule; `None`: one of its conditions does not hold, or is about an unknown fact.
fn weight(rule: &Detect, checkpoint: &Checkpoint<'_>) -> Option<Weight> {
    if !rule.template.is_empty() || !rule.lacks.is_empty() {
        let has = |text: &String| checkpoint.template.is_some_and(|template| template.contains(text.as_str()));
        if checkpoint.template.is_none() || !rule.template.iter().all(has) || rule.lacks.iter().any(has) {
            return None;
        }
    }
    let is_entry = |token: &String| checkpoint.has_token.is_some_and(|has_token| has_token(token));
    let named = rule.model_type.iter().any(|own| checkpoint.model_types.contains(&own.as_str()));
    if !rule.tokens.iter().all(is_entry) || !(rule.model_type.is_empty() || named) {
        return None;
    }
    let weight = Weight { template: rule.template.len(), model_type: named, tokens: rule.tokens.len() };
    (weight > Weight { template: 0, model_type: false, tokens: 0 }).then_some(weight)
}

fn why(rule: &Detect, weight: Weight, checkpoint: &Checkpoint<'_>) -> String {
    let quoted = |texts: &[String]| texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(", ");
    let mut reasons = Vec::new();
    if weight.template > 0 {
        reasons.push(format!("the chat template has {}", quoted(&rule.template)));
    }
    if weight.model_type {
        let own = checkpoint.model_types.iter().find(|own| rule.model_type.iter().any(|known| known == *own));
        reasons.push(format!("the model is a `{}`", own.copied().unwrap_or_default()));
    }
    if weight.tokens > 0 {
        reasons.push(format!("the vocabulary has {}", quoted(&rule.tokens)));
    }
    reasons.join("; ")
}

/// The examined facts, with a verb.
fn looked_at(checkpoint: &Checkpoint<'_>) -> &'static str {
    match (checkpoint.template, checkpoint.has_token) {
        (Some(_), Some(_)) => "chat template and vocabulary have",
        (Some(_), None) => "the chat template has",
        (None, Some(_)) => "the vocabulary has (there is no chat template)",
        (None, None) => "neither chat template nor vocabulary is known, so there are",
    }
}

fn unknown(half: Half, checkpoint: &Checkpoint<'_>) -> Error {
    let (flag, writes) = match half {
        Half::Reasoning => (half.flag(), "thoughts"),
        Half::Tools => (half.flag(), "calls"),
    };
    let message = format!("{flag} auto: {} the marks of no format that is known here", looked_at(checkpoint));
    Error::new(ErrorKind::Unsure, message).at(flag).hint(format!(
        "name the format with {flag}; `unspool formats` lists the names. If the model writes no {writes}, leave {flag} out"
    ))
}

fn undecided(half: Half, candidates: &[(Weight, String, String)]) -> Error {
    let equal = candidates.iter().take_while(|candidate| candidate.0 == candidates[0].0);
    let listed: Vec<String> = equal.map(|(_, name, why)| format!("`{name}` ({why})")).collect();
    let flag = half.flag();
    let message = format!("{flag} auto: as much speaks for {}", listed.join(" as for "));
    Error::new(ErrorKind::Unsure, message).at(flag).hint(format!("name the right one with {flag}"))
}
