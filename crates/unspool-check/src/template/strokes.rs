//! Finds the differences between two texts, character by character.

use std::ops::Range;

/// Maximum number of edit steps; texts that differ more count as one difference.
const MOST_STEPS: usize = 1500;
/// Differences with fewer equal characters between them are merged.
const APART: usize = 4;

/// A part of one text, and its counterpart in the other.
type Stroke = (Range<usize>, Range<usize>);

/// The differing parts of two texts, as byte ranges of both, in order. Found word by word, then narrowed to characters.
pub(super) fn strokes(a: &str, b: &str) -> Vec<Stroke> {
    let steps = differing(a, b).unwrap_or_else(|| vec![(0..a.len(), 0..b.len())]);
    let whole = joined(steps, a);
    whole.into_iter().filter_map(|stroke| narrowed(a, b, stroke)).collect()
}

/// A difference without common beginning and end; `None`: the texts are equal.
fn narrowed(a: &str, b: &str, (x, y): Stroke) -> Option<Stroke> {
    let (a, b) = (&a[x.clone()], &b[y.clone()]);
    let before: usize = a.chars().zip(b.chars()).take_while(|(i, j)| i == j).map(|(i, _)| i.len_utf8()).sum();
    let pairs = a[before..].chars().rev().zip(b[before..].chars().rev());
    let after: usize = pairs.take_while(|(i, j)| i == j).map(|(i, _)| i.len_utf8()).sum();
    let (x, y) = (x.start + before..x.end - after, y.start + before..y.end - after);
    (!x.is_empty() || !y.is_empty()).then_some((x, y))
}

/// Merges neighbouring differences.
fn joined(steps: Vec<Stroke>, a: &str) -> Vec<Stroke> {
    let mut out: Vec<Stroke> = Vec::new();
    for (x, y) in steps {
        match out.last_mut() {
            Some((x0, y0)) if a[x0.end..x.start].chars().count() < APART => {
                x0.end = x.end;
                y0.end = y.end;
            }
            _ => out.push((x, y)),
        }
    }
    out
}

/// Words, runs of blanks, and single other characters, with their positions.
fn words(text: &str) -> Vec<(usize, &str)> {
    let kind = |c: char| if c.is_alphanumeric() { 1 } else { u8::from(c == ' ') * 2 };
    let mut out: Vec<(usize, &str)> = Vec::new();
    let mut last = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        match out.last_mut() {
            Some((start, word)) if kind(c) > 0 && kind(c) == last => *word = &text[*start..end],
            _ => out.push((at, &text[at..end])),
        }
        last = kind(c);
    }
    out
}

/// The shortest edit script (Myers' greedy search); `None`: it is too long.
fn differing(a: &str, b: &str) -> Option<Vec<Stroke>> {
    let (xs, ys) = (words(a), words(b));
    let (n, m) = (signed(xs.len()), signed(ys.len()));
    let most = MOST_STEPS.min(xs.len() + ys.len());
    // The furthest position on each diagonal, for each number of steps; step `d` needs 2d - 1 diagonals of the previous
    // one.
    let mut history: Vec<Vec<isize>> = vec![vec![0]];
    for steps in 0..=signed(most) {
        let before = history.last()?;
        let mut reach = vec![0; index(2 * steps + 1)];
        for k in (-steps..=steps).step_by(2) {
            let mut x = if steps == 0 { 0 } else { from(before, k, steps).0 };
            while x < n && x - k < m && xs[index(x)].1 == ys[index(x - k)].1 {
                x += 1;
            }
            reach[index(k + steps)] = x;
            if x >= n && x - k >= m {
                let at = |list: &[(usize, &str)], i: isize, end: usize| list.get(index(i)).map_or(end, |(at, _)| *at);
                let bytes = |(x, y): (Range<isize>, Range<isize>)| {
                    (
                        at(&xs, x.start, a.len())..at(&xs, x.end, a.len()),
                        at(&ys, y.start, b.len())..at(&ys, y.end, b.len()),
                    )
                };
                return Some(back(&history, (n, m)).into_iter().map(bytes).collect());
            }
        }
        history.push(reach);
    }
    None
}

/// The start of a step onto diagonal `k` and whether it goes down, given the previous positions.
fn from(before: &[isize], k: isize, steps: isize) -> (isize, bool) {
    let reach = |k: isize| {
        let at = k + steps - 1;
        (at >= 0).then(|| before.get(index(at)).copied()).flatten()
    };
    match (reach(k + 1), reach(k - 1)) {
        (Some(down), right) if k == -steps || (k != steps && right.is_none_or(|right| right < down)) => (down, true),
        (_, right) => (right.unwrap_or(0) + 1, false),
    }
}

/// The steps of the edit script, first to last.
fn back(history: &[Vec<isize>], end: (isize, isize)) -> Vec<(Range<isize>, Range<isize>)> {
    let (mut x, mut y) = end;
    let mut out = Vec::new();
    // The first entry is the state before any step, the second is for no step.
    for (steps, before) in history.iter().enumerate().skip(1).rev() {
        let k = x - y;
        let (start, is_down) = from(before, k, signed(steps));
        let (px, py) = if is_down { (start, start - k - 1) } else { (start - 1, start - k) };
        out.push(if is_down { (px..px, py..py + 1) } else { (px..px + 1, py..py) });
        (x, y) = (px, py);
    }
    out.reverse();
    out
}

fn signed(i: usize) -> isize {
    isize::try_from(i).unwrap_or(isize::MAX)
}

/// Indices here are never negative.
fn index(i: isize) -> usize {
    usize::try_from(i).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told<'a>(a: &'a str, b: &'a str) -> Vec<(&'a str, &'a str)> {
        strokes(a, b).into_iter().map(|(x, y)| (&a[x], &b[y])).collect()
    }

    #[test]
    fn texts_differ_where_they_differ() {
        assert_eq!(told("abc", "abc"), []);
        assert_eq!(told("<｜User｜>hi", "<|User|>hi"), [("｜", "|"), ("｜", "|")]);
        assert_eq!(told("one two three", "one three"), [("two ", "")]);
        assert_eq!(told("", "é"), [("", "é")]);
        assert_eq!(told("a\nlong line here", "a\r\nlong line there"), [("", "\r"), ("", "t")]);
        assert_eq!(told("x, one, two", "y, one, three, two!"), [("x", "y"), ("wo", "hree, two!")]);
        let (a, b) = ("x ".repeat(1000), "y ".repeat(900));
        assert_eq!(told(&a, &b), [(&a[..1999], &b[..1799])]);
    }
}
