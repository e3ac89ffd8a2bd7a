//! The syntax of a body of parameters, compiled from its templates.

use std::borrow::Cow;

use super::escape;
use crate::body::Follow;
use crate::body::ends::{Ender, enders, first_match};
use crate::body::tag::ClosingTag;
use crate::call_header::{Program, ends_name};
use crate::explanation::Explanation;
use crate::format::file::{Escape, Tools, Trim, Typed};
use crate::format::template::{Part, Slot, Template};
use crate::limits::Limits;
use crate::marks::{Blanks, MARK};
use crate::scan::{Cut, FirstBytes, Literal, Match, cuts};
use crate::typing::Rules;

/// A body of parameters, compiled.
#[derive(Debug, Clone)]
pub(crate) struct ParamsSpec {
    pub(super) templates: Vec<ParamTemplate>,
    /// Closers of a parameter after the first one.
    pub(super) tails: Vec<Literal>,
    /// What ends the body: the call's and block's closers, the next call's opener.
    pub(super) after_call: Vec<Literal>,
    /// What may stand between parameters, and so after a value's closer.
    pub(super) structure: Vec<Literal>,
    /// A call's closers that are tags; these also count in other spellings.
    pub(super) call_tags: Vec<ClosingTag>,
    /// What ends a value without its own closer.
    pub(super) enders: Vec<Ender>,
    /// The templates require an opening at the start of a line.
    pub(super) at_line_start: bool,
    /// Bytes that begin something in a value.
    pub(super) in_value: FirstBytes,
    /// Bytes that begin structure.
    pub(super) in_skip: FirstBytes,
    pub(super) typed: Typed,
    pub(super) unwrap: Vec<String>,
    /// Whether to trim outer white space of values.
    pub(super) trim: bool,
    /// Whether values have entities and CDATA.
    pub(super) escape: bool,
    /// Whether keys have entities.
    attr: bool,
    /// What counts as white space in tags.
    pub(super) blanks: Blanks,
    silent: crate::format::file::Silent,
    python: bool,
}

/// One way to write a parameter.
#[derive(Debug, Clone)]
pub(super) struct ParamTemplate {
    /// The text up to the value, without its framing.
    pub(super) opening: Program,
    pub(super) first: Literal,
    /// Framing before the value.
    pub(super) lead: Box<str>,
    /// Framing after it.
    pub(super) trail: Box<str>,
    pub(super) close: Literal,
    /// The closer, if it is a tag.
    pub(super) tag: Option<ClosingTag>,
    /// The key's closer, if key and value have tags of their own.
    pub(super) key_close: Option<Literal>,
    tails: Vec<Literal>,
    /// The template requires the opening at the start of a line.
    at_line_start: bool,
}

impl ParamsSpec {
    /// Compiles the parameter templates of `tools`. `follow`: what may stand after the body.
    ///
    /// # Errors
    /// A template that cannot be read, or that does not mark the end of a parameter or its value.
    pub(crate) fn new(tools: &Tools, follow: Follow) -> Result<Self, Explanation> {
        if tools.param.is_empty() {
            return Err("`{params}` needs `tools.param`, the template of one parameter".into());
        }
        let blanks = Blanks { marks: tools.params.marks };
        let read = |source: &String| ParamTemplate::new(source, tools.loose, blanks);
        let templates = tools.param.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let enders = enders(&follow);
        let call_tags = follow.call_close.iter().filter_map(ClosingTag::of).collect();
        let mut after_call = follow.call_close;
        after_call.extend(follow.block_close);
        after_call.extend(follow.call_open);
        let tails: Vec<Literal> = templates.iter().flat_map(|t| t.tails.iter().cloned()).collect();
        let structure: Vec<Literal> =
            tails.iter().chain(templates.iter().map(|t| &t.first)).chain(&after_call).cloned().collect();
        let words = &tools.params;
        let escape = words.escape == Escape::Xml;
        let in_value = templates
            .iter()
            .flat_map(|t| [&t.close, &t.first])
            .chain(enders.iter().map(|e| &e.literal))
            .filter_map(Literal::first_byte)
            .chain(templates.iter().any(|t| t.tag.is_some()).then_some(b'<'))
            .chain(escape.then_some([b'<', b'&']).into_iter().flatten())
            .chain(blanks.marks.then_some(MARK));
        Ok(Self {
            in_value: FirstBytes::new(in_value),
            in_skip: FirstBytes::new(structure.iter().filter_map(Literal::first_byte)),
            at_line_start: templates.iter().any(|t| t.at_line_start),
            templates,
            tails,
            after_call,
            structure,
            call_tags,
            enders,
            typed: words.typed,
            unwrap: words.unwrap.to_vec(),
            trim: words.trim == Trim::All,
            escape,
            attr: words.attr == Escape::Xml,
            blanks,
            silent: tools.silent,
            python: tools.python,
        })
    }

    /// How untyped values are converted.
    pub(super) fn rules(&self, limits: &Limits) -> Rules {
        Rules { silent: self.silent, python: self.python, depth: limits.depth }
    }

    /// The template at a position; a foreign snapshot may have an invalid position.
    pub(super) fn template(&self, at: usize) -> &ParamTemplate {
        &self.templates[at.min(self.templates.len() - 1)]
    }

    /// The marker before a value.
    pub(super) fn value_opener(&self, template: usize) -> &str {
        self.template(template).opening.last_literal().map_or("", Literal::text)
    }

    /// Whether a call's closer is at the start of `rest` in another spelling, followed by what may follow a call. The
    /// end of the output is not enough.
    pub(super) fn misspelled_end(&self, rest: &[u8], most: usize) -> Match {
        for tag in &self.call_tags {
            match tag.misspelled(rest) {
                Match::No => {}
                Match::Partial => return Match::Partial,
                Match::Full(n) => {
                    let gap = self.blanks.before(&rest[n..]);
                    let behind = &rest[n + gap..];
                    return match (tag.literal().at(behind), first_match(&self.after_call, behind)) {
                        _ if gap > most => Match::No,
                        (Match::Partial, _) => Match::Partial,
                        (Match::Full(_), _) => Match::No,
                        (Match::No, Match::Full(_)) => Match::Full(n),
                        (Match::No, other) => other,
                    };
                }
            }
        }
        Match::No
    }

    /// Whether `rest` begins with a key without its opener: a name and the closer of keys.
    pub(super) fn bare_key(&self, template: usize, rest: &[u8], most: usize) -> Match {
        let Some(close) = &self.template(template).key_close else { return Match::No };
        let Some(n) = rest.iter().take(most + 1).position(|byte| ends_name(*byte)) else {
            return if rest.len() > most { Match::No } else { Match::Partial };
        };
        if rest[..n].trim_ascii().is_empty() { Match::No } else { close.at(&rest[n..]) }
    }

    /// A parameter's name, decoded.
    pub(super) fn key<'a>(&self, raw: &'a str) -> Cow<'a, str> {
        if self.attr { escape::decode(raw) } else { Cow::Borrowed(raw) }
    }
}

impl ParamTemplate {
    fn new(source: &str, loose: bool, blanks: Blanks) -> Result<Self, Explanation> {
        let wrong = |what: &str| Explanation::from(format!("parameter template {source:?}: {what}"));
        let template = Template::parse(source).map_err(|e| e.message)?;
        let value = template.position(|s| s == Slot::Value).ok_or_else(|| wrong("it has no `{value}`"))?;
        if !template.has(Slot::Key) {
            return Err(wrong("it has no `{key}`"));
        }
        let (mut before, mut after) = (template.parts[..value].to_vec(), template.parts[value + 1..].to_vec());
        let lead = before.last_mut().map(|part| cut_framing(part, |text| text.trim_end().len()..text.len()));
        let trail = after.first_mut().map(|part| cut_framing(part, |text| 0..text.len() - text.trim_start().len()));
        let opening = Program::new(&before, loose).with_blanks(blanks);
        let first = opening.first_literal().cloned().ok_or_else(|| wrong("it does not begin with a literal"))?;
        if opening.ends_in_slot() {
            return Err(wrong("no literal stands between a slot and `{value}`"));
        }
        let mut closers = Vec::new();
        for part in &after {
            let Part::Text(text) = part else {
                return Err(wrong("only literal text may follow `{value}`"));
            };
            closers.extend(cuts(text).into_iter().filter_map(|cut| match cut {
                Cut::Literal(text) => Some(Literal::new(text, loose)),
                Cut::Space(_) => None,
            }));
        }
        let mut closers = closers.into_iter();
        let close = closers.next().ok_or_else(|| wrong("no literal follows `{value}`"))?;
        let key_close = opening.apart_from(Slot::Key).cloned();
        let tail = &source[source.trim_end().len()..];
        let header = &source[..source.len() - source.trim_start().len()];
        let at_line_start = tail.contains('\n') || header.contains('\n');
        let (lead, trail) = (lead.unwrap_or_default(), trail.unwrap_or_default());
        let (tag, tails) = (ClosingTag::of(&close), closers.collect());
        Ok(Self { opening, first, lead, trail, close, tag, key_close, tails, at_line_start })
    }
}

/// Removes the white space next to `{value}` from the text beside it.
fn cut_framing(part: &mut Part, range: impl Fn(&str) -> std::ops::Range<usize>) -> Box<str> {
    let Part::Text(text) = part else { return "".into() };
    text.drain(range(text)).collect::<String>().into()
}
