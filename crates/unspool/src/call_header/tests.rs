//! Tests of headers.

use super::*;
use crate::format::template::Template;

fn run(template: &str, text: &str) -> Vec<(Slot, String)> {
    let t = Template::parse(template).unwrap();
    let end = t.position(Slot::is_body).unwrap_or(t.parts.len());
    let mut p = Program::new(&t.parts[..end], false);
    if matches!(p.ops.last(), Some(Op::Space)) {
        p.ops.pop();
    }
    let mut cursor = Cursor::at(0);
    for end in 0..=text.len() {
        if !text.is_char_boundary(end) {
            continue;
        }
        match cursor.advance(&p, &text[..end], false, &Limits::default()) {
            Advance::More => {}
            Advance::Accept => {
                return cursor.taken.iter().map(|t| (t.slot, text[t.start..t.end].to_owned())).collect();
            }
            found => panic!("{found:?} at {end} of {text:?}"),
        }
    }
    panic!("no end in {text:?}")
}

#[test]
fn slots_and_attributes_are_read_byte_by_byte() {
    assert_eq!(run("<function={name}>\n{params}", "<function= tide >"), vec![(Slot::Name, "tide".into())]);
    assert_eq!(
        run("<invoke name=\"{name}\">\n{params}", "<invoke  kind=x name = 'tide' >"),
        vec![(Slot::Name, "tide".into())]
    );
    assert_eq!(
        run("<c>{*function}<s>{name}\n```json\n{json}", "<c>tool<s>tide\n```json\n{"),
        vec![(Slot::Name, "tide".into())]
    );
}
