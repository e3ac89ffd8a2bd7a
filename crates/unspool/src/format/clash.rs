//! Detects ambiguous files: one literal with two roles that no place can distinguish.

use super::file::FormatFile;
use super::marker::Marker;
use super::syntax::Syntax;
use super::template::{Slot, Template};

/// The role of a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    OpensThought,
    ClosesThought,
    OpensAnswer,
    ClosesAnswer,
    OpensCall,
    ClosesCall,
    Vanishes,
    BeginsHeader,
    BeginsBody,
    EndsMessage,
}

impl Role {
    fn words(self) -> &'static str {
        match self {
            Self::OpensThought => "opens a thought",
            Self::ClosesThought => "closes a thought",
            Self::OpensAnswer => "opens an answer",
            Self::ClosesAnswer => "closes an answer",
            Self::OpensCall => "opens a call",
            Self::ClosesCall => "closes a call",
            Self::Vanishes => "vanishes",
            Self::BeginsHeader => "begins a header",
            Self::BeginsBody => "begins a message's body",
            Self::EndsMessage => "ends a message",
        }
    }
}

/// A literal of the file, its key, and its role.
struct Claim {
    literal: String,
    key: String,
    role: Role,
}

/// Two keys that claim one literal, and the explanation.
pub(super) struct Clash {
    pub(super) first: String,
    pub(super) second: String,
    pub(super) message: String,
}

/// The first clash of a file.
pub(super) fn clash(file: &FormatFile) -> Option<Clash> {
    let claims = claims(file);
    claims.iter().enumerate().find_map(|(i, later)| {
        let earlier = claims[..i].iter().find(|c| c.literal == later.literal && clashes(c.role, later.role))?;
        let (first, second) = (earlier.role.words(), later.role.words());
        Some(Clash {
            first: earlier.key.clone(),
            second: later.key.clone(),
            message: format!("{:?} {first} and {second}", earlier.literal),
        })
    })
}

/// Whether two roles clash. Closers may share a literal, because what is open distinguishes them. So may the two fences
/// of a call, because its body is between them. Anything else would depend on a rank that the file does not state.
fn clashes(a: Role, b: Role) -> bool {
    let closes = |role| matches!(role, Role::ClosesThought | Role::ClosesAnswer | Role::ClosesCall | Role::EndsMessage);
    let of_call = |role| matches!(role, Role::OpensCall | Role::ClosesCall);
    a != b && !(closes(a) && closes(b)) && !(of_call(a) && of_call(b))
}

fn claims(file: &FormatFile) -> Vec<Claim> {
    // An invalid template is reported when the pair is compiled.
    let Ok(syntax) = Syntax::read(file) else { return Vec::new() };
    let mut out = Vec::new();
    let mut claim = |literal: &str, key: String, role: Role| {
        if !literal.is_empty() {
            out.push(Claim { literal: literal.to_owned(), key, role });
        }
    };
    let mut sides = |templates: &[Template], key: &str, [from, to]: [fn(Slot) -> bool; 2], roles: [Role; 2]| {
        for (i, template) in templates.iter().enumerate() {
            let (Some(from), Some(to)) = (template.position(from), template.position(to)) else { continue };
            let key = if templates.len() > 1 { format!("{key}.{i}") } else { key.to_owned() };
            claim(&Marker::read(&template.parts[..from]).literal, key.clone(), roles[0]);
            claim(&Marker::read(&template.parts[to + 1..]).literal, key, roles[1]);
        }
    };
    if file.channels.is_none() {
        sides(
            &syntax.thoughts,
            "reasoning.thought",
            [|s| s == Slot::Thought; 2],
            [Role::OpensThought, Role::ClosesThought],
        );
        sides(&syntax.frames, "content.frame", [|s| s == Slot::Content; 2], [Role::OpensAnswer, Role::ClosesAnswer]);
    }
    sides(&syntax.blocks, "tools.block", [|s| s == Slot::Calls; 2], [Role::OpensCall, Role::ClosesCall]);
    sides(&syntax.calls, "tools.call", [|_| true, Slot::is_body], [Role::OpensCall, Role::ClosesCall]);
    for (i, text) in file.content.drop.iter().enumerate() {
        claim(text.trim(), format!("content.drop.{i}"), Role::Vanishes);
    }
    if let Some(channels) = &file.channels {
        claim(channels.body.trim(), "channels.body".into(), Role::BeginsBody);
        for text in channels.end.iter() {
            claim(text.trim(), "channels.end".into(), Role::EndsMessage);
        }
    }
    if let Some(text) = &file.content.header {
        claim(text.trim(), "content.header".into(), Role::BeginsHeader);
    }
    out
}
