//! The destination of an open value's text: directly out as a string, or into a buffer until its type is known.

use serde::{Deserialize, Serialize};

use super::Turn;
use super::header::HeaderAttempt;
use crate::body::{Repair, give, give_string};
use crate::diagnostic::DiagnosticKind;
use crate::format::file::Typed;
use crate::format::template::Slot;
use crate::json::write::{string_of, string_piece};
use crate::scan::deciding;
use crate::schema::{Kinds, TypeId};
use crate::typing::{Forms, Guess, Want, convert, object};

/// How a value is emitted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum ValueOutput {
    /// A string, whose opening quote is written.
    String,
    /// Held, because its end may change its type.
    Held(Held),
}

/// A held value.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Held {
    text: String,
    guess: Guess,
    forms: Forms,
    target: Target,
    /// The unwritten key: if the value is an object, it is all the arguments.
    unwrap: Option<String>,
}

/// The type that a value should get; see [`Want`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Target {
    String,
    Json,
    Kinds(Kinds),
    Schema(Option<TypeId>),
}

impl Target {
    /// The type from the opening's attributes, or else from the schema.
    fn of(turn: &Turn<'_, '_, '_>, header: &HeaderAttempt, held: &str) -> Self {
        let key = header.cursor.value(Slot::Key, held).unwrap_or_default();
        let id = turn.cx.schema.and_then(|s| s.parameter(&turn.spec.key(key)));
        match header.cursor.value(Slot::String, held) {
            Some("true") => return Self::String,
            Some("false") => return Self::Json,
            _ => {}
        }
        let Some(written) = header.cursor.value(Slot::Type, held) else { return Self::Schema(id) };
        // `array<string>` and the like: the outer type decides.
        let written = Kinds::named(written.split(['[', '<', '(']).next().unwrap_or_default());
        let is_known = written != Kinds::ANY;
        let kinds = turn.cx.schema.zip(id).and_then(|(s, id)| s.get(id)).map_or(Kinds::default(), |t| t.kinds);
        match turn.spec.typed {
            Typed::Model if written == Kinds::STRING => Self::String,
            Typed::Model if is_known => Self::Json,
            Typed::Schema if is_known && (kinds.is_empty() || kinds.several() && kinds.has(written)) => {
                if written == Kinds::STRING { Self::String } else { Self::Kinds(written) }
            }
            _ => Self::Schema(id),
        }
    }

    fn want<'a>(self, turn: &Turn<'_, '_, 'a>) -> Want<'a> {
        match self {
            Self::String => Want::Kinds(Kinds::STRING),
            Self::Json => Want::Json,
            Self::Kinds(kinds) => Want::Kinds(kinds),
            Self::Schema(id) => Want::Schema(turn.cx.schema.zip(id).and_then(|(s, id)| s.get(id))),
        }
    }
}

/// Reports meaningless attributes of an opening.
fn tell_odd_attributes(turn: &mut Turn<'_, '_, '_>, header: &HeaderAttempt, held: &str) {
    let flag = header.cursor.value(Slot::String, held).filter(|flag| !matches!(*flag, "true" | "false"));
    let outer = |kind: &str| Kinds::named(kind.split(['[', '<', '(']).next().unwrap_or_default());
    let kind = header.cursor.value(Slot::Type, held).filter(|kind| *kind != "any" && outer(kind) == Kinds::ANY);
    let unplaced = header.cursor.unplaced.iter().map(|(from, to)| &held[*from..*to]);
    for text in unplaced.chain(flag).chain(kind).filter(|text| !text.is_empty()) {
        turn.report(DiagnosticKind::UnplacedText, text, "this attribute of a parameter means nothing");
    }
}

impl ValueOutput {
    /// Begins a value with the opening `header`, read from the bytes `held`.
    pub(super) fn new(turn: &mut Turn<'_, '_, '_>, header: &HeaderAttempt, held: &str) -> Self {
        tell_odd_attributes(turn, header, held);
        let target = Target::of(turn, header, held);
        let key = turn.spec.key(header.cursor.value(Slot::Key, held).unwrap_or_default());
        let forms = Forms::of(target.want(turn), turn.spec.rules(turn.cx.limits));
        turn.object.named(&key);
        let may_unwrap = !turn.object.has_members()
            && turn.spec.unwrap.iter().any(|name| *name == key)
            && turn.cx.schema.is_some_and(|s| !s.declares(&key));
        if may_unwrap {
            let forms = forms.or_object(turn.spec.rules(turn.cx.limits));
            let unwrap = Some(key.into_owned());
            return Self::Held(Held { text: String::new(), guess: Guess::Start, forms, target, unwrap });
        }
        turn.object.key(turn.cx.out, &key);
        if forms.is_string_only() {
            turn.cx.out.args("\"");
            return Self::String;
        }
        Self::Held(Held { text: String::new(), guess: Guess::Start, forms, target, unwrap: None })
    }

    /// Takes a piece of the value.
    #[inline]
    pub(super) fn give(&mut self, turn: &mut Turn<'_, '_, '_>, piece: &str) {
        match self {
            Self::String => string_of(piece, |json, from| turn.cx.out.args_of(json, from)),
            Self::Held(held) => {
                if held.give(turn, piece) {
                    *self = Self::String;
                }
            }
        }
    }

    /// Ends the value, `behind` bytes before the turn's position.
    pub(super) fn end(self, turn: &mut Turn<'_, '_, '_>, behind: usize) {
        match self {
            Self::String => turn.cx.out.args("\""),
            Self::Held(held) => held.end(turn, behind),
        }
    }

    /// The output ends in the value. A held value of undecided type is omitted, and its text goes to a diagnostic.
    pub(super) fn cut(self, turn: &mut Turn<'_, '_, '_>) {
        let Self::Held(held) = self else { return };
        if held.forms.is_listed_only() {
            turn.cx.out.args("\"");
            string_piece(&held.text, |json| turn.cx.out.args(json));
        } else if !held.text.is_empty() {
            turn.report(
                DiagnosticKind::CallCutOff,
                &held.text,
                "the output ended before the type of this value was known",
            );
        }
    }
}

impl Held {
    /// Takes a piece; true if the value is now a string and is written so far.
    fn give(&mut self, turn: &mut Turn<'_, '_, '_>, piece: &str) -> bool {
        let room = turn.cx.limits.argument.saturating_sub(self.text.len());
        let (first, rest) = piece.split_at(deciding(piece, room).len());
        self.text.push_str(first);
        self.guess = self.guess.after(self.forms, first, self.text.len());
        if self.guess != Guess::String {
            if first.len() <= room {
                return false;
            }
            let at = turn.at + room;
            let message = "a value is too long to be typed; it is given as a string";
            turn.cx.out.report(DiagnosticKind::LimitReached, at, "", message);
        }
        if let Some(key) = self.unwrap.take() {
            turn.object.key(turn.cx.out, &key);
        }
        turn.cx.out.args("\"");
        let begins = turn.at.cast_signed() - (self.text.len() - first.len()).cast_signed();
        give_string(turn.cx.out, &self.text, begins);
        string_of(rest, |json, from| turn.cx.out.args_of(json, from));
        true
    }

    /// Reports that the model wrote the arguments as a string.
    fn tell_unwrapped(&self, turn: &mut Turn<'_, '_, '_>, key: &str, arguments: &str, end: usize) {
        if self.target == Target::String {
            let at = end.cast_signed() - self.text.len().cast_signed();
            let message = format!("`{key}` is no parameter of the function; the object in it is the arguments");
            turn.cx.out.repaired(Repair { at, text: &self.text, read: arguments, message: &message });
        }
    }

    fn end(self, turn: &mut Turn<'_, '_, '_>, behind: usize) {
        let rules = turn.spec.rules(turn.cx.limits);
        if let Some(key) = &self.unwrap {
            if let Some(arguments) = object(&self.text, rules) {
                turn.object.adopt(turn.cx.out, &arguments);
                self.tell_unwrapped(turn, key, &arguments, turn.at - behind);
                return;
            }
            turn.object.key(turn.cx.out, key);
        }
        let converted = convert(&self.text, self.target.want(turn), rules);
        give(&converted, turn.cx.out, &self.text, turn.at - behind);
    }
}
