//! The meaning of each byte of an envelope: keys, values, the ends of objects and of the list.

use super::parts::{PendingCall, Short};
use super::{At, Call, Envelope, EnvelopeSpec, Given, Here, Kept, Role, Turn};
use crate::body::json::Passed;
use crate::body::{Cx, Eof, Out, Repair, Status};
use crate::diagnostic::DiagnosticKind;
use crate::format::file::{Commit, Container, Shape};
use crate::json::arguments::{Arguments, Ending, Progress};
use crate::json::copy::{JsonCopy, JsonOut};
use crate::json::scan::{JsonScan, Scanned, Stop};
use crate::limits::Limits;
use crate::scan::{Match, prefix};

/// Emits members that are read as arguments.
struct Rewritten<'a> {
    out: &'a mut dyn Out,
}

impl JsonOut for Rewritten<'_> {
    fn json(&mut self, text: &str) {
        self.out.args_of(text, text);
    }

    fn doubled(&mut self, _: isize, _: &str) {}
}

fn begins_value(byte: u8) -> bool {
    matches!(byte, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
}

/// Whether `rest` begins with a value that can be arguments: a string, a container, or `null`.
fn begins_arguments(rest: &[u8]) -> Match {
    match rest.first() {
        Some(b'{' | b'[' | b'"') => Match::Full(1),
        _ => prefix(b"null", rest),
    }
}

impl Envelope {
    /// Consumes a byte between strings and values, other than white space.
    pub(super) fn structure(&mut self, spec: &EnvelopeSpec, cx: &mut Cx<'_>, here: Here<'_>, byte: u8) -> Turn {
        let container = spec.words.container;
        match (&self.at, byte) {
            (At::Start, b'{') if container != Container::Array => self.go(At::Key),
            (At::Start, b'[') if container != Container::Object => {
                self.list = true;
                self.go(At::Element)
            }
            (At::Element, b'{') => {
                self.called = false;
                self.go(At::Key)
            }
            (At::Element | At::AfterElement, b']') if self.later => {
                self.at = At::Over;
                Turn::Say(1, Status::Done { complete: true })
            }
            (At::Element, _) if self.later && begins_value(byte) => {
                self.at = At::SkipElement(JsonScan::default());
                Turn::Go(0)
            }
            (At::AfterElement, b',') => self.go(At::Element),
            (At::Key, b'"') => {
                if spec.words.shape == Shape::Keys {
                    self.call.unplaced.key_begins();
                }
                self.go(At::Short(Kept::Key, Short::default()))
            }
            // A comma before the brace does not break a call.
            (At::Key | At::After, b'}') => self.end_object(spec, cx, here, 1),
            // A missing brace does not either, if the list ends after complete arguments.
            (At::After, b']') if self.list && (self.called || matches!(self.call.given, Given::Written(_))) => {
                self.end_object(spec, cx, here, 0)
            }
            (At::After, b',') => self.go(At::Key),
            (At::Colon(role), b':') => {
                let role = *role;
                self.call.asked |= role == Role::Arguments;
                self.go(At::Value(role))
            }
            (At::Value(role), _) if begins_value(byte) => {
                let role = *role;
                self.value(spec, role, here, byte)
            }
            _ => self.misfit(spec, cx, here),
        }
    }

    fn go(&mut self, at: At) -> Turn {
        self.at = at;
        Turn::Go(1)
    }

    /// Consumes the first byte of a member's value.
    fn value(&mut self, spec: &EnvelopeSpec, role: Role, here: Here<'_>, byte: u8) -> Turn {
        match (role, byte) {
            (Role::Name, b'"') => self.go(At::Short(Kept::Name, Short::default())),
            (Role::Name, _) if !self.later => Turn::Say(0, Status::Broken),
            (Role::Id, b'"') => self.go(At::Short(Kept::Id, Short::default())),
            (Role::Id, b'-' | b'0'..=b'9') => {
                self.at = At::Number { scan: JsonScan::default(), text: String::new() };
                Turn::Go(0)
            }
            (Role::Arguments, _) => {
                let announced = self.call.announced;
                match if announced { Match::Full(0) } else { begins_arguments(here.rest().as_bytes()) } {
                    Match::Partial => return Turn::Wait(0),
                    Match::No => return Turn::Say(0, Status::Broken),
                    Match::Full(_) => self.at = At::Arguments(Arguments::default()),
                }
                let is_named = !announced && self.call.name.is_some();
                if is_named { Turn::Say(0, Status::Named) } else { Turn::Go(0) }
            }
            (Role::Name | Role::Id | Role::Other, _) => {
                let known = match role {
                    Role::Name => spec.words.name.first(),
                    Role::Id => spec.words.id.first(),
                    Role::Arguments | Role::Other => None,
                };
                if let Some(key) = known {
                    self.call.unplaced.key(key);
                }
                self.call.unplaced.value_begins();
                self.at = At::Skip(JsonScan::default());
                Turn::Go(0)
            }
        }
    }

    /// A stored string is complete.
    pub(super) fn short(&mut self, spec: &EnvelopeSpec, what: Kept, short: &Short, len: usize) -> Turn {
        match what {
            Kept::Key if spec.words.shape == Shape::Keys => {
                let role = self.role(spec, short);
                self.call.unplaced.key_is_over(&short.text, role == Role::Other);
                self.at = At::Colon(role);
                Turn::Go(len)
            }
            Kept::Key | Kept::Name => {
                let name = short.text.trim();
                if name.is_empty() && self.later && what == Kept::Name {
                    // The element is not a call, but it may be a complete value.
                    self.at = At::After;
                    return Turn::Go(len);
                }
                if short.too_long || name.is_empty() {
                    return Turn::Say(len, Status::Broken);
                }
                self.call.name = Some(name.to_owned());
                if what == Kept::Key {
                    // Only the colon makes it a key.
                    self.at = At::Colon(Role::Arguments);
                    return Turn::Go(len);
                }
                self.at = At::After;
                // Arguments before the name make it a call.
                if self.call.asked { Turn::Say(len, Status::Named) } else { Turn::Go(len) }
            }
            Kept::Id if short.too_long => self.identified("", len),
            Kept::Id => self.identified(&short.text, len),
        }
    }

    /// The value of an id is complete.
    pub(super) fn identified(&mut self, id: &str, len: usize) -> Turn {
        if !id.is_empty() {
            self.call.id = Some(id.to_owned());
        }
        self.at = At::After;
        Turn::Go(len)
    }

    fn role(&mut self, spec: &EnvelopeSpec, key: &Short) -> Role {
        let words = &spec.words;
        let is = |keys: &[String]| !key.too_long && keys.contains(&key.text);
        let (open, given) = (!self.call.announced, self.call.given);
        if is(&words.name) && self.call.name.is_none() {
            Role::Name
        } else if is(&words.arguments) && !matches!(given, Given::Written(_)) {
            Role::Arguments
        } else if is(&words.id) && self.call.id.is_none() && open {
            Role::Id
        } else {
            Role::Other
        }
    }

    /// Whether the name alone makes an object without the arguments' key a call.
    fn is_call_without_arguments(&self, spec: &EnvelopeSpec) -> bool {
        let words = &spec.words;
        words.shape == Shape::Keys && self.call.name.is_some() && (words.commit == Commit::Name || self.call.asked)
    }

    /// Whether the envelope is between two calls, before any part of the next one.
    fn between(&self) -> bool {
        !self.call.announced
            && match self.at {
                At::Element | At::AfterElement => self.later,
                At::After | At::Key => self.called,
                _ => false,
            }
    }

    pub(super) fn arguments(&mut self, spec: &EnvelopeSpec, cx: &mut Cx<'_>, here: Here<'_>) -> Turn {
        let At::Arguments(arguments) = &mut self.at else { return Turn::Go(0) };
        let (rest, limits) = (here.rest(), cx.limits);
        let (len, progress) = if self.call.announced {
            arguments.step(rest, limits, &mut Passed::from(&mut *cx.out, here.at))
        } else {
            arguments.step(rest, limits, &mut self.header.early_from(here.at))
        };
        if self.holds_too_much(limits) {
            return Turn::Say(len, Status::Broken);
        }
        let here = Here { at: here.at + len, ..here };
        match progress {
            Progress::More => Turn::Wait(len),
            Progress::Bad => Turn::Say(len, Status::Broken),
            Progress::End(ending) => {
                self.call.given = match ending {
                    Ending::Nothing => Given::Nothing,
                    Ending::Whole => Given::Written(true),
                    Ending::NoJson => Given::Written(false),
                };
                self.at = At::After;
                if spec.words.shape == Shape::Keys {
                    return Turn::Go(len);
                }
                self.called = true;
                let complete = self.finish_call(cx, here);
                self.next_call(if self.list { "[{\"\":0" } else { "{\"\":0" }, 0);
                Turn::Say(len, Status::CallEnd { complete })
            }
        }
    }

    /// Skips a value without a role.
    pub(super) fn skip(&mut self, cx: &mut Cx<'_>, here: Here<'_>) -> Turn {
        let (scan, member) = match &mut self.at {
            At::Skip(scan) => (scan, true),
            At::SkipElement(scan) => (scan, false),
            _ => return Turn::Go(0),
        };
        let rest = here.rest();
        let Scanned { len: read, stop } = scan.skip(rest.as_bytes(), cx.limits.depth);
        if member {
            self.call.unplaced.value(&rest[..read], cx.limits.arguments);
            if self.holds_too_much(cx.limits) {
                return Turn::Say(read, Status::Broken);
            }
        }
        match stop {
            Stop::More | Stop::Control | Stop::Escape(_) => Turn::Wait(read),
            Stop::Bad => Turn::Say(read, Status::Broken),
            Stop::End if member => {
                self.call.unplaced.value_is_over();
                self.at = At::After;
                Turn::Go(read)
            }
            Stop::End => {
                self.at = At::AfterElement;
                Turn::NoCall(read)
            }
        }
    }

    /// An object ends with the next `len` bytes.
    fn end_object(&mut self, spec: &EnvelopeSpec, cx: &mut Cx<'_>, here: Here<'_>, len: usize) -> Turn {
        let after = if self.list { At::AfterElement } else { At::Over };
        if self.called {
            self.at = after;
            return if self.list { Turn::Go(len) } else { Turn::Say(len, Status::Done { complete: true }) };
        }
        if !self.call.announced {
            if self.is_call_without_arguments(spec) {
                return Turn::Say(0, Status::Named);
            }
            if !self.later {
                return Turn::Say(0, Status::Broken);
            }
            self.at = after;
            return Turn::NoCall(len);
        }
        let complete = self.finish_call(cx, here);
        self.at = after;
        if !self.list {
            return Turn::Say(len, Status::Done { complete });
        }
        self.next_call("[0", 0);
        Turn::Say(len, Status::CallEnd { complete })
    }

    /// The envelope does not allow the next byte: it is a closer, or the body breaks here.
    fn misfit(&mut self, spec: &EnvelopeSpec, cx: &mut Cx<'_>, here: Here<'_>) -> Turn {
        if !self.call.announced && !self.between() {
            // A closer in place of the arguments means that there are none.
            let asks = matches!(self.at, At::Value(Role::Arguments)) && self.call.name.is_some();
            return match spec.closers.at(here.rest().as_bytes()) {
                Match::Full(_) if asks => Turn::Say(0, Status::Named),
                Match::Partial if asks => Turn::Wait(0),
                _ => Turn::Say(0, Status::Broken),
            };
        }
        match spec.closers.at(here.rest().as_bytes()) {
            Match::Partial => Turn::Wait(0),
            Match::Full(_) => {
                let complete = !self.call.announced || self.finish_call(cx, here);
                self.at = At::Over;
                Turn::Say(0, Status::Done { complete })
            }
            Match::No => Turn::Say(0, Status::Broken),
        }
    }

    /// Whether more is held before the announcement than allowed.
    fn holds_too_much(&self, limits: &Limits) -> bool {
        !self.call.announced && self.header.early_bytes() + self.call.unplaced.len() > limits.held_arguments
    }

    /// The output ends. A call that was cut off after its name is one; one that just ends there is text.
    pub(super) fn end(&mut self, spec: &EnvelopeSpec, cx: &mut Cx<'_>, here: Here<'_>) -> Status {
        if !self.call.announced && !self.between() {
            let is_cut = cx.eof == Eof::Length && self.is_call_without_arguments(spec);
            return if is_cut { Status::Named } else { Status::Broken };
        }
        let complete = match &self.at {
            _ if !self.call.announced => true,
            At::Arguments(arguments) => {
                let whole = arguments.finish(&mut Passed::from(&mut *cx.out, here.at));
                self.tell_unplaced(cx, here);
                // A number has no end marker: if it was cut off, digits may be missing.
                whole && cx.eof == Eof::Stop
            }
            // After bytes without a role, the arguments may have been anything.
            At::Short(..) | At::Skip(_) if self.call.given == Given::Missing => {
                self.tell_unplaced(cx, here);
                false
            }
            _ if self.call.given == Given::Missing && cx.eof == Eof::Length => {
                self.tell_unplaced(cx, here);
                false
            }
            _ => self.finish_call(cx, here),
        };
        self.at = At::Over;
        Status::Done { complete }
    }

    /// Ends a call; returns whether its arguments are complete.
    fn finish_call(&mut self, cx: &mut Cx<'_>, here: Here<'_>) -> bool {
        if self.call.given == Given::Missing && self.members_are_arguments(cx, here) {
            return true;
        }
        self.tell_unplaced(cx, here);
        match self.call.given {
            Given::Missing | Given::Nothing => {
                cx.out.args("{}");
                true
            }
            Given::Written(true) => true,
            Given::Written(false) => {
                let message = "the arguments are not JSON; they are passed on as the model wrote them";
                cx.out.report(DiagnosticKind::NotJson, here.at, "", message);
                false
            }
        }
    }

    /// If the arguments' key is missing, parameters next to the name are the arguments; false if there are none, or if
    /// there are other members too.
    fn members_are_arguments(&mut self, cx: &mut Cx<'_>, here: Here<'_>) -> bool {
        let is_declared = |key: &str| cx.schema.is_some_and(|schema| schema.declares(key));
        let Some(members) = self.call.unplaced.take_parameters(&is_declared) else { return false };
        let object = format!("{{{members}}}");
        // The diagnostic comes at the end, when the reason is known; repairs inside are part of the same repair.
        let mut out = Rewritten { out: cx.out };
        JsonCopy::default().copy(&object, cx.limits.depth, &mut out);
        let message = "the arguments' key is missing; the parameters beside the name are the arguments";
        cx.out.repaired(Repair { at: here.at.cast_signed(), text: &members, read: &object, message });
        true
    }

    /// Reports members without a role.
    pub(super) fn tell_unplaced(&mut self, cx: &mut Cx<'_>, here: Here<'_>) {
        let text = self.call.unplaced.take();
        if self.call.announced && !text.is_empty() {
            let message = "the call has members that are neither its name nor its arguments";
            cx.out.report(DiagnosticKind::UnplacedText, here.at, &text, message);
        }
    }

    /// An element of the list is not a call, but the list continues.
    pub(super) fn no_call(&mut self, cx: &mut Cx<'_>, here: Here<'_>) {
        let element = self.header.element(&here.input[..here.at]);
        cx.out.report(DiagnosticKind::UnplacedText, here.at, &element, "an element of the list of calls is no call");
        self.next_call("[0", here.at);
    }

    /// Prepares for the next call. `open` is the JSON that leads to the envelope's position.
    fn next_call(&mut self, open: &str, from: usize) {
        self.later = true;
        self.call = Call::default();
        self.header = PendingCall::further(open, from);
    }
}
