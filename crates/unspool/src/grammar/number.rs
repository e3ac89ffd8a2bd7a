//! Expressions for numbers within bounds.

use serde_json::Value;

/// Maximum number of digits before the point of an unbounded number, and after the point.
const MOST_WHOLE: usize = 30;
const MOST_BEHIND: usize = 6;
/// Maximum number of listed multiples.
const MOST_LISTED: i128 = 1000;

/// The constraints of a schema on a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds<'a> {
    pub(super) schema: &'a Value,
}

/// A bound: digits before and after the point; whether the bound itself is excluded.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Bound {
    whole: i128,
    behind: String,
    open: bool,
}

impl Bounds<'_> {
    fn number(self, key: &str) -> Option<f64> {
        self.schema.get(key).and_then(Value::as_f64)
    }

    /// The least and the greatest integer.
    fn whole(self) -> (Option<i128>, Option<i128>) {
        let least = self.number("minimum").map(f64::ceil).map(|n| n as i128);
        let above = self.number("exclusiveMinimum").map(|n| n.floor() as i128 + 1);
        let most = self.number("maximum").map(f64::floor).map(|n| n as i128);
        let below = self.number("exclusiveMaximum").map(|n| n.ceil() as i128 - 1);
        (least.into_iter().chain(above).max(), most.into_iter().chain(below).min())
    }

    /// An expression for the matching integers; `None`: none matches. If there are both bounds and a multiple, the
    /// multiple is ignored if there are too many.
    pub(super) fn integer(self) -> Option<String> {
        let (least, most) = self.whole();
        let step = self.multiple_of().unwrap_or(1);
        if let (Some(least), Some(most), true) = (least, most, step > 1) {
            let (first, last) =
                (least.div_euclid(step) + i128::from(least.rem_euclid(step) > 0), most.div_euclid(step));
            if last - first < MOST_LISTED {
                let all: Vec<String> = (first..=last).map(|n| (n * step).to_string()).collect();
                return (!all.is_empty()).then(|| group(&all));
            }
        }
        let mut all = Vec::new();
        if least.is_none_or(|least| least < 0) && most.is_none_or(|most| most > i128::MIN) {
            let (near, far) = (most.map_or(1, |most| (-most).max(1)), least.map(|least| -least));
            all.extend(whole(near, far).into_iter().map(|w| format!("-{w}")));
        }
        if most.is_none_or(|most| most >= 0) {
            all.extend(whole(least.unwrap_or(0).max(0), most));
        }
        (!all.is_empty()).then(|| group(&all))
    }

    /// The divisor of `multipleOf`.
    pub(super) fn multiple_of(self) -> Option<i128> {
        self.number("multipleOf").filter(|step| *step >= 1.0 && step.fract() == 0.0).map(|step| step as i128)
    }

    /// Whether the number is only a multiple, or at most not negative.
    pub(super) fn is_free(self) -> bool {
        let (least, most) = self.whole();
        most.is_none() && least.is_none_or(|least| least == 0)
    }

    /// Whether negative numbers match.
    pub(super) fn has_negative(self) -> bool {
        self.whole().0.is_none_or(|least| least < 0)
    }

    /// An expression for the matching numbers; `None`: none matches.
    pub(super) fn number_expression(self) -> Option<String> {
        let bound = |key: &str, open: bool| self.number(key).map(|n| (n, open));
        let least = [bound("minimum", false), bound("exclusiveMinimum", true)].into_iter().flatten();
        let least = least.max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let most = [bound("maximum", false), bound("exclusiveMaximum", true)].into_iter().flatten();
        let most = most.min_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let mut all = Vec::new();
        if least.is_none_or(|(n, _)| n < 0.0) {
            let near = most.filter(|(n, _)| *n < 0.0).map_or(Bound::of(0.0, true), |(n, open)| Bound::of(-n, open));
            let far = least.map(|(n, open)| Bound::of(-n, open));
            all.extend(positive(&near, far.as_ref()).into_iter().map(|n| format!("-{n}")));
        }
        if most.is_none_or(|(n, open)| n > 0.0 || n == 0.0 && !open) {
            let near = least.filter(|(n, _)| *n >= 0.0).map_or(Bound::of(0.0, false), |(n, open)| Bound::of(n, open));
            let far = most.map(|(n, open)| Bound::of(n, open));
            all.extend(positive(&near, far.as_ref()));
        }
        (!all.is_empty()).then(|| group(&all))
    }
}

impl Bound {
    fn of(number: f64, open: bool) -> Self {
        let text = number.abs().to_string();
        let (whole, behind) = text.split_once('.').unwrap_or((&text, ""));
        let behind: String = behind.chars().take(MOST_BEHIND).collect();
        let whole = whole.parse().unwrap_or(i128::MAX);
        Self { whole, behind: behind.trim_end_matches('0').to_owned(), open }
    }
}

fn group(all: &[String]) -> String {
    format!("(?:{})", all.join("|"))
}

/// Expressions for the integers from a non-negative one to another, or without end.
fn whole(least: i128, most: Option<i128>) -> Vec<String> {
    if most.is_some_and(|most| most < least) {
        return Vec::new();
    }
    let digits = |n: i128| n.to_string().len();
    let last = most.map_or_else(|| digits(least), digits);
    let mut out = Vec::new();
    for count in digits(least)..=last {
        let first = if count == 1 { "0".to_owned() } else { format!("1{}", "0".repeat(count - 1)) };
        let from = if count == digits(least) { least.to_string() } else { first };
        let to = most.filter(|_| count == last).map_or_else(|| "9".repeat(count), |most| most.to_string());
        between(&from, &to, &mut out);
    }
    if most.is_none() {
        out.push(format!("[1-9][0-9]{{{},{MOST_WHOLE}}}", digits(least)));
    }
    out
}

/// Expressions for the digits between two of the same length.
fn between(from: &str, to: &str, out: &mut Vec<String>) {
    let common = from.bytes().zip(to.bytes()).take_while(|(a, b)| a == b).count();
    if common == from.len() {
        out.push(from.to_owned());
        return;
    }
    let (start, from, to) = (&from[..common], &from[common..], &to[common..]);
    let (a, b) = (from.as_bytes()[0], to.as_bytes()[0]);
    let more = from.len() - 1;
    let (lowest, highest) = (from[1..].bytes().all(|d| d == b'0'), to[1..].bytes().all(|d| d == b'9'));
    if !lowest {
        let mut all = Vec::new();
        between(&from[1..], &"9".repeat(more), &mut all);
        out.extend(all.iter().map(|rest| format!("{start}{}{rest}", char::from(a))));
    }
    let (a, b) = (if lowest { a } else { a + 1 }, if highest { b } else { b - 1 });
    if a <= b {
        out.push(format!("{start}[{}-{}]{}", char::from(a), char::from(b), digits(more, more)));
    }
    if !highest {
        let mut all = Vec::new();
        between(&"0".repeat(more), &to[1..], &mut all);
        out.extend(all.iter().map(|rest| format!("{start}{}{rest}", to.as_bytes()[0] as char)));
    }
}

fn digits(least: usize, most: usize) -> String {
    match (least, most) {
        (_, 0) => String::new(),
        (1, 1) => "[0-9]".to_owned(),
        (least, most) if least == most => format!("[0-9]{{{least}}}"),
        (least, most) => format!("[0-9]{{{least},{most}}}"),
    }
}

/// Expressions for the numbers from a non-negative one to another, or without end.
fn positive(near: &Bound, far: Option<&Bound>) -> Vec<String> {
    let any = format!("(?:\\.{})?", digits(1, MOST_BEHIND));
    let mut out = Vec::new();
    if let Some(far) = far.filter(|far| far.whole <= near.whole) {
        if far.whole == near.whole {
            let all = inside(near, far);
            out.extend(all.iter().map(|behind| format!("{}{behind}", near.whole)));
        }
        return out;
    }
    out.extend(above(near).iter().map(|behind| format!("{}{behind}", near.whole)));
    out.extend(whole(near.whole + 1, far.map(|far| far.whole - 1)).iter().map(|whole| format!("{whole}{any}")));
    if let Some(far) = far {
        let zero = Bound { behind: String::new(), open: false, ..far.clone() };
        out.extend(inside(&zero, far).iter().map(|behind| format!("{}{behind}", far.whole)));
    }
    out
}

/// What may follow the integer part of a bound in numbers above it.
fn above(bound: &Bound) -> Vec<String> {
    if bound.behind.is_empty() && !bound.open {
        return vec![format!("(?:\\.{})?", digits(1, MOST_BEHIND))];
    }
    let highest = Bound { behind: "9".repeat(MOST_BEHIND), open: false, ..bound.clone() };
    inside(bound, &highest)
}

/// What may follow an integer part between two bounds that share it.
fn inside(near: &Bound, far: &Bound) -> Vec<String> {
    let mut out = Vec::new();
    let parse = |text: &str| text.parse::<u64>().unwrap_or(0);
    for count in 0..=MOST_BEHIND {
        let padded = |text: &str| format!("{text:0<MOST_BEHIND$}");
        let unit = 10_u64.pow(u32::try_from(MOST_BEHIND - count).unwrap_or(0));
        let (least, most) = (parse(&padded(&near.behind)) + u64::from(near.open), parse(&padded(&far.behind)));
        let Some(most) = most.checked_sub(u64::from(far.open)) else { continue };
        let (first, last) = (least.div_ceil(unit), most / unit);
        if first > last || count > 0 && last >= 10_u64.pow(u32::try_from(count).unwrap_or(0)) {
            continue;
        }
        if count == 0 {
            out.extend((first == 0).then(String::new));
            continue;
        }
        let mut all = Vec::new();
        between(&format!("{first:0>count$}"), &format!("{last:0>count$}"), &mut all);
        out.extend(all.iter().map(|behind| format!("\\.{behind}")));
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Matches an expression; without one nothing matches.
    fn reader(expression: Option<String>) -> impl Fn(&str) -> bool {
        let read = |expression| fancy_regex::Regex::new(&format!("^{expression}$")).unwrap();
        let regex = expression.map(read);
        move |text| regex.as_ref().is_some_and(|regex| regex.is_match(text).unwrap())
    }

    #[test]
    fn whole_numbers_keep_their_bounds() {
        for schema in [
            json!({"minimum": 0}),
            json!({"minimum": -3, "maximum": 12}),
            json!({"exclusiveMinimum": 99, "exclusiveMaximum": 1203}),
            json!({"maximum": -17}),
            json!({"minimum": 7, "maximum": 7}),
            json!({"minimum": 3.2, "maximum": 1000.9}),
            json!({"minimum": -120, "maximum": 350, "multipleOf": 7}),
            json!({"minimum": 5, "maximum": 4}),
        ] {
            let bounds = Bounds { schema: &schema };
            let fits = reader(bounds.integer());
            let number = |key: &str| schema.get(key).and_then(Value::as_f64);
            for n in -1500..=1500_i32 {
                let value = f64::from(n);
                let expected = number("minimum").is_none_or(|m| value >= m)
                    && number("maximum").is_none_or(|m| value <= m)
                    && number("exclusiveMinimum").is_none_or(|m| value > m)
                    && number("exclusiveMaximum").is_none_or(|m| value < m)
                    && number("multipleOf").is_none_or(|m| value.rem_euclid(m) == 0.0);
                assert_eq!(fits(&n.to_string()), expected, "{schema} {n}");
            }
            assert!(!fits("-0") && !fits("007"));
        }
    }

    #[test]
    fn numbers_keep_their_bounds() {
        for schema in [
            json!({"minimum": 0, "maximum": 30}),
            json!({"exclusiveMinimum": 0.5}),
            json!({"minimum": -2.25, "exclusiveMaximum": 1.5}),
            json!({"minimum": 0.5, "maximum": 0.75}),
            json!({"exclusiveMinimum": 1, "exclusiveMaximum": 2}),
            json!({"maximum": -0.125}),
            json!({"minimum": 3, "exclusiveMaximum": 3}),
        ] {
            let fits = reader(Bounds { schema: &schema }.number_expression());
            let number = |key: &str| schema.get(key).and_then(Value::as_f64);
            for n in -4100..=4100_i32 {
                let value = f64::from(n) / 1000.0;
                let text = value.to_string();
                let expected = number("minimum").is_none_or(|m| value >= m)
                    && number("maximum").is_none_or(|m| value <= m)
                    && number("exclusiveMinimum").is_none_or(|m| value > m)
                    && number("exclusiveMaximum").is_none_or(|m| value < m);
                assert_eq!(fits(&text), expected, "{schema} {text}");
                if n % 1000 != 0 {
                    assert_eq!(fits(&format!("{value:.5}")), expected, "{schema} {value:.5}");
                }
            }
            assert!(!fits("-0"));
        }
    }
}
