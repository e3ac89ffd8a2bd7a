//! XML entities and CDATA in values.

use std::borrow::Cow;

pub(super) const CDATA: &str = "<![CDATA[";
pub(super) const CDATA_END: &str = "]]>";

/// Maximum length of an entity, including `&` and `;`.
const LONGEST_ENTITY: usize = 10;

/// An entity at the start of a text.
pub(super) enum Entity {
    /// This character, and the length of its entity in bytes.
    Char(char, usize),
    /// More bytes are needed.
    Partial,
    /// No entity.
    No,
}

/// The entity at the start of `text`, which begins with `&`.
pub(super) fn entity(text: &str) -> Entity {
    let bytes = text.as_bytes();
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'#';
    let len = 1 + bytes[1..].iter().take(LONGEST_ENTITY).take_while(|b| is_name(b)).count();
    if len > LONGEST_ENTITY {
        return Entity::No;
    }
    match bytes.get(len) {
        None => Entity::Partial,
        Some(b';') => named(&text[1..len]).map_or(Entity::No, |c| Entity::Char(c, len + 1)),
        Some(_) => Entity::No,
    }
}

fn named(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let code = name.strip_prefix('#')?;
            let code = match code.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => code.parse(),
            };
            char::from_u32(code.ok()?).filter(|c| *c != '\0')
        }
    }
}

/// Decodes the entities of a complete text.
pub(crate) fn decode(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find('&') else { return Cow::Borrowed(text) };
    let mut out = text[..first].to_owned();
    let mut rest = &text[first..];
    while !rest.is_empty() {
        let len = match entity(rest) {
            Entity::Char(c, len) if rest.starts_with('&') => {
                out.push(c);
                len
            }
            _ => {
                let next = rest[1..].find('&').map_or(rest.len(), |i| i + 1);
                out.push_str(&rest[..next]);
                next
            }
        };
        rest = &rest[len..];
        let text = rest.find('&').unwrap_or(rest.len());
        out.push_str(&rest[..text]);
        rest = &rest[text..];
    }
    Cow::Owned(out)
}
