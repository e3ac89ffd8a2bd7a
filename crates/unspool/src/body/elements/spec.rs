//! The settings of a body of elements.

use crate::body::Follow;
use crate::body::ends::{Ender, enders};
use crate::call_header::Program;
use crate::explanation::Explanation;
use crate::format::file::{Silent, Tools};
use crate::format::template::{Slot, Template};
use crate::limits::Limits;
use crate::scan::{FirstBytes, Literal};
use crate::typing::Rules;

/// A body of elements, compiled.
#[derive(Debug, Clone)]
pub(crate) struct ElementsSpec {
    /// An element's opening tag.
    pub(super) open: Program,
    /// Its closing tag.
    pub(super) close: Program,
    /// The call's and block's closers.
    pub(super) enders: Vec<Ender>,
    /// Openers of the next call.
    pub(super) call_open: Vec<Literal>,
    /// What may follow an element.
    pub(super) structure: Vec<Literal>,
    /// Bytes that begin a tag.
    pub(super) first: FirstBytes,
    close_template: String,
    silent: Silent,
    python: bool,
}

impl ElementsSpec {
    /// Compiles the tags of `tools`. `follow`: what may follow the body.
    ///
    /// # Errors
    /// An invalid tag, or one that does not begin and end with a literal.
    pub(crate) fn new(tools: &Tools, follow: Follow) -> Result<Self, Explanation> {
        let open = program("open", &tools.elements.open, tools.loose)?;
        let close = program("close", &tools.elements.close, tools.loose)?;
        if !Template::parse(&tools.elements.open).is_ok_and(|t| t.has(Slot::Key)) {
            return Err(format!("`tools.elements.open` {:?} has no `{{key}}`", tools.elements.open).into());
        }
        let enders = enders(&follow);
        let literals = [open.first_literal(), close.first_literal()].into_iter().flatten();
        let structure: Vec<Literal> =
            literals.chain(enders.iter().map(|e| &e.literal)).chain(&follow.call_open).cloned().collect();
        Ok(Self {
            // A closer may lack its sign.
            first: FirstBytes::new(structure.iter().filter_map(Literal::first_byte).chain([b'<'])),
            structure,
            open,
            close,
            enders,
            call_open: follow.call_open,
            close_template: tools.elements.close.clone(),
            silent: tools.silent,
            python: tools.python,
        })
    }

    /// The closing tag of an element.
    pub(super) fn closer(&self, key: &str) -> String {
        self.close_template.replace("{key}", key)
    }

    /// How to convert untyped values.
    pub(super) fn rules(&self, limits: &Limits) -> Rules {
        Rules { silent: self.silent, python: self.python, depth: limits.depth }
    }
}

fn program(word: &str, source: &str, loose: bool) -> Result<Program, Explanation> {
    let template = Template::parse(source).map_err(|e| e.message)?;
    let program = Program::new(&template.parts, loose);
    if program.first_literal().is_none() || program.ends_in_slot() {
        return Err(format!("`tools.elements.{word}` {source:?} must begin and end with a literal").into());
    }
    Ok(program)
}
