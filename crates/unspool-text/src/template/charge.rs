//! Costs of a template beyond the engine's own steps: work is charged before it is done, memory before it is allocated.

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, State, Value};

use crate::work;

/// Maximum nesting of a value to write.
pub(super) const DEEPEST: usize = 200;
/// Cost of walking a value, in steps: more than the engine's own, because it is not compiled.
pub(super) const WALK: u64 = 8;
/// Number of bytes per step; the engine's own price.
const BYTES_A_STEP: usize = 64;

/// Fails if the render must not continue.
pub(super) fn check() -> Result<(), Error> {
    work::check().map_err(|ended| Error::new(ErrorKind::InvalidOperation, ended.to_string()).with_source(ended))
}

/// Charges for a text of this length.
pub(super) fn bytes(state: &State<'_, '_>, count: usize) -> Result<(), Error> {
    check()?;
    state.consume_fuel((count / BYTES_A_STEP) as u64)
}

/// Charges for walking a value before code walks it that does not charge. A value that occurs twice is walked twice.
pub(super) fn walk(state: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    step(state, value, 0)
}

fn step(state: &State<'_, '_>, value: &Value, depth: usize) -> Result<(), Error> {
    match value.kind() {
        ValueKind::Seq | ValueKind::Map => {}
        _ => return Ok(()),
    }
    if depth > DEEPEST {
        return Err(too_deep());
    }
    check()?;
    let is_map = value.kind() == ValueKind::Map;
    for item in value.try_iter()? {
        state.consume_fuel(WALK)?;
        match is_map {
            true => step(state, &value.get_item(&item)?, depth + 1)?,
            false => step(state, &item, depth + 1)?,
        }
    }
    Ok(())
}

pub(super) fn too_deep() -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("a value is nested more than {DEEPEST} deep, or holds itself"))
}

/// The sum of widths and precisions in a format text of Python's `str.format`: the maximum number of characters beyond
/// its values.
pub(super) fn widths(format: &str) -> usize {
    let (mut total, mut number, mut inside) = (0_usize, 0_usize, false);
    for c in format.chars().chain(std::iter::once('}')) {
        match (c, c.to_digit(10)) {
            (_, Some(digit)) if inside => number = number.saturating_mul(10).saturating_add(digit as usize),
            _ => {
                total = total.saturating_add(std::mem::take(&mut number));
                match c {
                    ':' => inside = true,
                    '{' | '}' => inside = false,
                    _ => {}
                }
            }
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::widths;

    #[test]
    fn widths_are_found() {
        for (format, expected) in [
            ("", 0),
            ("no 123 field", 0),
            ("{0} {12}", 0),
            ("{:>10} and {:8.3f}", 21),
            ("{:>100000000000}", 100_000_000_000),
            ("{a:99999999999999999999999999}", usize::MAX),
        ] {
            assert_eq!(widths(format), expected, "{format}");
        }
    }
}
