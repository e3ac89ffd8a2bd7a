//! Compiles how calls open and close: templates of blocks and calls become headers, closers and follow sets.

use crate::body::{BodySpec, Follow};
use crate::call_header::{Begins, Op, Program};
use crate::format::file::{Channels, Commit, Container, EnvelopeWords, List, Tools, Where};
use crate::format::template::{Part, Slot, Template};
use crate::marks::Blanks;
use crate::scan::Literal;

use super::numbered::{CallHeaderId, FormId};
use super::tables::{Alternative, Block, Builder, Form, Guided, Role};
use crate::format::marker::{Marker, Strip, is_word};
use crate::format::syntax::{Fault, Format};

impl Builder<'_> {
    /// Compiles a tools half.
    pub(super) fn tools(&mut self, format: &Format) -> Result<(), Fault> {
        let tools = &format.tools;
        let (templates, blocks) = (&format.syntax.calls[..], &format.syntax.blocks[..]);
        if templates.is_empty() {
            return Err(("tools.call".into(), "a tools half needs a call template".into()));
        }
        let mut follow = follow(templates, blocks, tools.loose);
        if let Some(words) = self.channel_words() {
            // The end of a message closes its body, whichever it is.
            let ends = words.end.iter().map(|end| Literal::new(end, false));
            follow.call_close.extend(ends.filter(|end| !follow.call_close.contains(end)).collect::<Vec<_>>());
        }
        let follow = follow;
        let mut calls = Vec::new();
        for call in templates {
            let slot = call.body().ok_or_else(|| {
                ("tools.call".to_owned(), "a call template needs a body slot such as {json} or {params}".into())
            })?;
            let body = BodySpec::new(slot, tools, follow.clone()).map_err(|told| (words_of(slot), told))?;
            let after = &call.parts[call.position(Slot::is_body).map_or(0, |i| i + 1)..];
            let mut closers = literals(after, tools.loose);
            if let Some(words) = self.channel_words() {
                // The flow itself reads the end of the message.
                closers.retain(|c| !words.end.iter().any(|end| end == c.text()));
            }
            let form = self.forms.push(Form { body, closers, again: None });
            if slot != Slot::Envelope {
                self.message_form.get_or_insert(form);
            }
            calls.push((form, call));
        }
        let structure = Structure::new(format, &follow);
        self.follow = follow;
        for block in blocks {
            self.block(tools, block, &calls, &structure);
        }
        for (form, call) in calls {
            self.bare_call(tools, form, call, &structure, blocks.is_empty());
        }
        self.guided(tools)?;
        for form in self.forms.iter() {
            for closer in &form.closers {
                let marker = Marker { literal: closer.text().to_owned(), ..Marker::default() };
                self.close_calls.push(Role { marker, id: None, loose: tools.loose });
            }
        }
        Ok(())
    }

    /// A header without its start marker, in an open message: the recipient after `to`, up to the body marker.
    pub(super) fn header_in_body(&mut self, to: &str, body: &str) -> (Role, CallHeaderId) {
        let parts = [Part::Slot(Slot::Name), Part::Text(body.to_owned())];
        let alternative = self.alternatives.push(Alternative {
            program: Program::new(&parts, false),
            form: FormId::FIRST,
            block: None,
            bare: false,
            at_start: false,
            guided: Guided::No,
            message: true,
        });
        let call_header = self.call_header(vec![alternative]);
        let lead = vec![Strip { text: " ".into(), of_marker: true }];
        (Role { marker: Marker { literal: to.into(), lead, ..Marker::default() }, id: None, loose: false }, call_header)
    }

    /// A header with its start marker, in an open message without an end: anything up to the body marker that is not
    /// another marker.
    pub(super) fn header_in_text(&mut self, words: &Channels) -> CallHeaderId {
        let stops = words.end.iter().chain([&words.start]).map(|text| Literal::exact(text)).collect();
        let ops = vec![Op::Until(Literal::exact(&words.body), stops)];
        let alternative = self.alternatives.push(Alternative {
            program: Program { ops, ..Program::default() },
            form: FormId::FIRST,
            block: None,
            bare: false,
            at_start: false,
            guided: Guided::No,
            message: true,
        });
        self.call_header(vec![alternative])
    }

    fn program(&self, parts: &[Part], call: &Template, tools: &Tools, structure: &Structure) -> Program {
        let mut all = parts.to_vec();
        if !parts.is_empty() {
            // White space between a block's opener and its first call is framing, whether or not the templates have
            // any.
            all.push(Part::Text("\n".to_owned()));
        }
        let end = call.position(Slot::is_body).unwrap_or(call.parts.len());
        all.extend_from_slice(&call.parts[..end]);
        let mut program = Program::new(&all, tools.loose).with_blanks(Blanks { marks: tools.params.marks });
        if matches!(program.ops.last(), Some(Op::Space)) {
            program.ops.pop();
        }
        let (words, json) = (&tools.literals, ["{", "[", "\"", "null"].map(Literal::exact));
        match call.body() {
            Some(Slot::Params | Slot::Elements) => {
                program.ops.push(Op::Arguments(Begins::With(structure.begins.clone())));
                program.structure = structure.all();
            }
            Some(Slot::Json) => {
                // A name without a closer ends at the first brace: in prose, other JSON would look like one.
                let json = if program.ends_in_slot() { &json[..1] } else { &json[..] };
                program.ops.push(Op::Arguments(Begins::With([json, &structure.closers].concat())));
            }
            Some(Slot::Literals) => {
                if let [open, .., close] | [open @ close] = &words.string[..] {
                    let [open, close] = [open, close].map(|text| Literal::exact(text));
                    program.ops.push(Op::Arguments(Begins::Members(open, close)));
                }
            }
            Some(Slot::Kwargs) => program.ops.push(Op::Arguments(Begins::Keywords)),
            // Another template may begin with the same marker.
            Some(Slot::Envelope) => program.ops.push(Op::Expect(containers(tools))),
            _ => {}
        }
        program.openers.clone_from(&structure.openers);
        program
    }

    fn block(&mut self, tools: &Tools, block: &Template, calls: &[(FormId, &Template)], structure: &Structure) {
        let Some((open, close)) = block.markers(Slot::Calls) else { return };
        let at = block.position(|s| s == Slot::Calls).unwrap_or(0);
        let special = self.source.declared.contains(&open.literal);
        let id = self.blocks.push(Block { opener: Literal::new(&open.literal, tools.loose), special });
        let mut alternatives = Vec::new();
        let mut opener = first_literal_text(&open.literal);
        for (form, call) in calls.iter().copied() {
            let mut program = self.program(&block.parts[..at], call, tools, structure);
            let first = take_first_literal(&mut program, tools.loose);
            let Some(first) = first else { continue };
            first.text().clone_into(&mut opener);
            program.opener = Some(first.clone());
            alternatives.push(self.alternatives.push(Alternative {
                program,
                form,
                block: Some(id),
                bare: false,
                at_start: tools.r#where == Where::Start && !is_word(first.text()),
                guided: Guided::No,
                message: false,
            }));
        }
        let call_header = self.call_header(alternatives);
        let role = Role { marker: Marker { literal: opener, ..open }, id: None, loose: tools.loose };
        self.open_outside.push((role, call_header));
        let closers = block_closers(&close, tools.loose);
        self.half_closers.extend(closers.iter().rev().skip(1).cloned());
        for closer in closers {
            let mut role = self.literal_role(closer.text(), false);
            role.marker.lead = close.lead.clone();
            role.loose = tools.loose;
            self.close_blocks.push(role);
        }
    }

    /// A call outside a block, or a further call inside one.
    fn bare_call(&mut self, tools: &Tools, form: FormId, call: &Template, structure: &Structure, no_block: bool) {
        let mut program = self.program(&[], call, tools, structure);
        let lead = match call.parts.first() {
            Some(Part::Text(text)) => text[..text.len() - text.trim_start().len()].to_owned(),
            _ => String::new(),
        };
        let base = Alternative {
            program: Program::default(),
            form,
            block: None,
            bare: false,
            at_start: false,
            guided: Guided::No,
            message: false,
        };
        let opener = take_first_literal(&mut program, tools.loose);
        if call.body() == Some(Slot::Envelope) && tools.envelope.container != Container::Array {
            let again = self.alternatives.push(Alternative { bare: true, ..base.clone() });
            self.forms[form].again = Some(again);
        }
        match opener {
            Some(first) => {
                program.opener = Some(first.clone());
                let alternative = self.alternatives.push(Alternative { program, ..base });
                let call_header = self.call_header(vec![alternative]);
                let mut marker = Marker { literal: first.text().to_owned(), ..Marker::default() };
                if !lead.is_empty() {
                    marker.lead.push(Strip { text: lead.into(), of_marker: false });
                }
                let role = Role { marker, id: None, loose: tools.loose };
                self.open_inside.push((role.clone(), call_header));
                self.open_outside.push((role, call_header));
            }
            None if call.body() == Some(Slot::Envelope) => {
                let list = matches!(tools.envelope.container, Container::Array | Container::Either);
                let object = matches!(tools.envelope.container, Container::Object | Container::Either);
                let at_start = tools.r#where == Where::Start && no_block;
                let alternative = self.alternatives.push(Alternative { bare: true, at_start, ..base.clone() });
                let call_header = self.call_header(vec![alternative]);
                for text in [("[", list), ("{", object)].into_iter().filter(|(_, on)| *on).map(|(t, _)| t) {
                    let role =
                        Role { marker: Marker { literal: text.into(), ..Marker::default() }, id: None, loose: false };
                    self.open_inside.push((role.clone(), call_header));
                    if no_block {
                        self.open_outside.push((role, call_header));
                    }
                }
                self.separated(tools, &Program::default(), &base, no_block);
            }
            None => {
                self.separated(tools, &program, &base, no_block);
            }
        }
    }

    /// Calls after a separator. A separator of white space only lets a call begin at any text in its block. After a
    /// closed block it separates nothing.
    fn separated(&mut self, tools: &Tools, program: &Program, base: &Alternative, no_block: bool) {
        for between in tools.between.iter() {
            let literal = between.trim();
            let space = (!literal.is_empty()).then_some(Op::Space);
            let ops = space.into_iter().chain(program.ops.iter().cloned()).collect();
            let program = Program { ops, ..program.clone() };
            let alternative = self.alternatives.push(Alternative { program, bare: false, ..base.clone() });
            let call_header = self.call_header(vec![alternative]);
            if literal.is_empty() {
                self.bare_in_block = Some(call_header);
                continue;
            }
            let role = Role { marker: Marker { literal: literal.into(), ..Marker::default() }, id: None, loose: false };
            self.open_inside.push((role.clone(), call_header));
            if no_block {
                self.open_gap.push((role, call_header));
            }
        }
    }

    /// Guided JSON for required and named choices: a list of calls, or the bare arguments of the named function. If the
    /// format's own calls are bare JSON too, they come first.
    fn guided(&mut self, tools: &Tools) -> Result<(), Fault> {
        let mut words = tools.clone();
        words.envelope = EnvelopeWords {
            container: Container::Either,
            commit: Commit::Arguments,
            arguments: List(vec!["parameters".into(), "arguments".into()]),
            ..Default::default()
        };
        let fault = |told| ("tools".to_owned(), told);
        let list = BodySpec::new(Slot::Envelope, &words, Follow::default()).map_err(fault)?;
        let json = BodySpec::new(Slot::Json, tools, Follow::default()).map_err(fault)?;
        for (text, body, guided) in [
            ("[", list.clone(), &[Guided::Required, Guided::Named][..]),
            ("{", list, &[Guided::Required]),
            ("{", json, &[Guided::Named]),
        ] {
            let form = self.forms.push(Form { body, closers: Vec::new(), again: None });
            let mut alternatives = Vec::new();
            for guided in guided {
                alternatives.push(self.alternatives.push(Alternative {
                    program: Program::default(),
                    form,
                    block: None,
                    bare: true,
                    at_start: true,
                    guided: *guided,
                    message: false,
                }));
            }
            let call_header = self.call_header(alternatives);
            let role = Role { marker: Marker { literal: text.into(), ..Marker::default() }, id: None, loose: false };
            self.open_outside.push((role, call_header));
        }
        Ok(())
    }
}

/// The key for the settings of an argument syntax.
fn words_of(slot: Slot) -> String {
    let key = match slot {
        Slot::Envelope => "tools.envelope",
        Slot::Params => "tools.param",
        Slot::Elements => "tools.elements",
        Slot::Literals => "tools.literals",
        _ => "tools.call",
    };
    key.to_owned()
}

/// Literals that mark structure after a call's name.
struct Structure {
    /// The beginnings of parameters, and the closers of the call or its block.
    begins: Vec<Literal>,
    /// The closers of the call or its block.
    closers: Vec<Literal>,
    /// The openers of a further call.
    openers: Vec<Literal>,
}

impl Structure {
    fn new(format: &Format, follow: &Follow) -> Self {
        let loose = format.tools.loose;
        let element = Template::parse(&format.tools.elements.open).ok();
        let params = format.syntax.params.iter().chain(element.as_ref().filter(|_| uses_elements(format)));
        let programs = params.map(|param| Program::new(&param.parts, loose));
        let closers: Vec<Literal> = follow.call_close.iter().chain(&follow.block_close).cloned().collect();
        let params = programs.filter_map(|program| program.first_literal().cloned());
        Self { begins: params.chain(closers.iter().cloned()).collect(), closers, openers: follow.call_open.clone() }
    }

    fn all(&self) -> Vec<Literal> {
        [&self.begins[..], &self.openers].concat()
    }
}

fn uses_elements(format: &Format) -> bool {
    format.syntax.calls.iter().any(|call| call.body() == Some(Slot::Elements))
}

/// What may follow a body, from all templates.
fn follow(calls: &[Template], blocks: &[Template], loose: bool) -> Follow {
    let mut follow = Follow::default();
    let add = |list: &mut Vec<Literal>, literal: Literal| {
        if !list.contains(&literal) {
            list.push(literal);
        }
    };
    for call in calls {
        let end = call.position(Slot::is_body).unwrap_or(0);
        for (i, closer) in literals(&call.parts[end + 1..], loose).into_iter().enumerate() {
            if i > 0 {
                add(&mut follow.block_close, closer.clone());
            }
            add(&mut follow.call_close, closer);
        }
        if let Some(first) = Program::new(&call.parts[..end], loose).first_literal() {
            add(&mut follow.call_open, first.clone());
        }
    }
    for block in blocks {
        if let Some((open, close)) = block.markers(Slot::Calls) {
            if !open.literal.is_empty() {
                add(&mut follow.call_open, Literal::new(&first_literal_text(&open.literal), loose));
            }
            for closer in block_closers(&close, loose) {
                add(&mut follow.block_close, closer);
            }
        }
    }
    follow
}

/// All literals of template parts.
fn literals(parts: &[Part], loose: bool) -> Vec<Literal> {
    Program::new(parts, loose)
        .ops
        .into_iter()
        .filter_map(|op| match op {
            Op::Literal(literal) => Some(literal),
            _ => None,
        })
        .collect()
}

/// The literals that close a block; each may be missing.
fn block_closers(close: &Marker, loose: bool) -> Vec<Literal> {
    literals(&[Part::Text(close.literal.clone())], loose)
}

fn first_literal_text(text: &str) -> String {
    Program::new(&[Part::Text(text.to_owned())], false)
        .first_literal()
        .map_or_else(String::new, |l| l.text().to_owned())
}

/// Removes the first literal from a program; the state's pattern replaces it.
fn take_first_literal(program: &mut Program, loose: bool) -> Option<Literal> {
    let at = program.ops.iter().position(|op| !matches!(op, Op::Space))?;
    let Op::Literal(first) = program.ops[at].clone() else { return None };
    program.ops.drain(..=at);
    // A tag is a marker by itself: models repeat it, or mention it in prose, without the word before the name.
    let names = matches!(program.ops.first(), Some(Op::Slot(_)));
    let text = first.text();
    match text.find('>').map(|end| text.split_at(end + 1)) {
        Some((tag, behind)) if names && tag.starts_with('<') && !behind.is_empty() && !behind.contains('<') => {
            program.ops.insert(0, Op::Literal(Literal::new(behind, loose)));
            Some(Literal::new(tag, loose))
        }
        _ => Some(first),
    }
}

/// The brackets that begin an envelope.
fn containers(tools: &Tools) -> Vec<Literal> {
    match tools.envelope.container {
        Container::Object => vec![Literal::exact("{")],
        Container::Array => vec![Literal::exact("[")],
        Container::Either => vec![Literal::exact("["), Literal::exact("{")],
    }
}
