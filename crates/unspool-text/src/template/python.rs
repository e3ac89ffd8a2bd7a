//! Numbers in Python's notation.

/// A float in JSON, as `json.dumps` writes it: the shortest digits that read back, with an exponent where Python has
/// one.
pub(super) fn json_float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let shortest = format!("{number:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&power) {
        let mut text = number.to_string();
        if !text.contains('.') {
            text.push_str(".0");
        }
        return text;
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", power.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::json_float;

    #[test]
    fn floats_look_like_pythons() {
        let cases = [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (f64::INFINITY, "Infinity"),
        ];
        for (number, text) in cases {
            assert_eq!(json_float(number), text);
        }
    }
}
