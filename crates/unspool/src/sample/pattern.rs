//! Texts that a regular expression matches.

use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind};

/// Writes a text that matches an expression, about as short as possible. `rng` returns a number below another.
pub(crate) fn fitting(hir: &Hir, rng: &mut impl FnMut(usize) -> usize, out: &mut String) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(Class::Unicode(class)) => out.extend(character_of(class.ranges(), rng)),
        HirKind::Class(Class::Bytes(class)) => {
            out.extend(class.to_unicode_class().and_then(|c| character_of(c.ranges(), rng)));
        }
        HirKind::Repetition(r) => {
            let most = r.max.unwrap_or(u32::MAX).saturating_sub(r.min).min(2);
            let more = rng(most as usize + 1);
            (0..r.min as usize + more).for_each(|_| fitting(&r.sub, rng, out));
        }
        HirKind::Capture(c) => fitting(&c.sub, rng, out),
        HirKind::Concat(parts) => parts.iter().for_each(|p| fitting(p, rng, out)),
        HirKind::Alternation(parts) => {
            if let Some(part) = parts.get(rng(parts.len())) {
                fitting(part, rng, out);
            }
        }
    }
}

/// A character of a class: a letter or digit if it has one.
fn character_of(ranges: &[ClassUnicodeRange], rng: &mut impl FnMut(usize) -> usize) -> Option<char> {
    let has = |c: char| ranges.iter().any(|r| r.start() <= c && c <= r.end());
    let plain: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').filter(|c| has(*c)).collect();
    plain.get(rng(plain.len())).copied().or_else(|| ranges.first().map(ClassUnicodeRange::start))
}
