//! From times to the numbers of a table.

use std::time::Duration;

use crate::trial::Outcome;

/// In which unit a time is shown.
#[derive(Clone, Copy)]
pub(crate) enum Scale {
    /// Nanoseconds, for this many tokens.
    PerToken(usize),
    /// Times of the floor.
    Ratio(Outcome),
    /// MB/s, for this many bytes.
    Megabytes(usize),
    Microseconds,
}

impl Scale {
    /// NaN, if there is no time.
    pub(crate) fn of(self, outcome: Outcome) -> f64 {
        let Outcome::Took(took, _) = outcome else { return f64::NAN };
        let seconds = took.max(Duration::from_nanos(1)).as_secs_f64();
        match self {
            Self::PerToken(tokens) => seconds * 1e9 / tokens as f64,
            Self::Ratio(Outcome::Took(floor, _)) => seconds / floor.max(Duration::from_nanos(1)).as_secs_f64(),
            Self::Ratio(_) => f64::NAN,
            Self::Megabytes(bytes) => bytes as f64 / 1e6 / seconds,
            Self::Microseconds => seconds * 1e6,
        }
    }
}

/// A cell of a table. `✗`: the answer was not the message.
pub(crate) fn shown(outcome: Outcome, scale: Scale) -> String {
    match outcome {
        Outcome::Missing => "-".to_owned(),
        Outcome::TooLong => "too long".to_owned(),
        Outcome::Took(_, right) => {
            let number = scale.of(outcome);
            let digits = usize::from(number < 100.0);
            format!("{number:.digits$}{}", if right { "" } else { " ✗" })
        }
    }
}

/// The geometric mean; what is no number is left out.
pub(crate) fn geometric(numbers: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for number in numbers.filter(|n| n.is_finite()) {
        sum += number.ln();
        count += 1.0;
    }
    f64::exp(sum / count)
}

/// The median.
pub(crate) fn middle(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.filter(|n| n.is_finite()).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The largest number, with its name.
pub(crate) fn worst<T: Default>(named: impl Iterator<Item = (T, f64)>) -> (T, f64) {
    let numbers = named.filter(|(_, number)| number.is_finite());
    numbers.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((T::default(), f64::NAN))
}
