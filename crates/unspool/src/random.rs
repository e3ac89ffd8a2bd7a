//! Random numbers that are the same on every machine: SplitMix64.

/// The increment of the state.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A generator far from those of other counters under the same seed.
    pub(crate) fn of(seed: u64, counter: u64) -> Self {
        Self { state: seed.wrapping_add(counter.wrapping_mul(STEP)) }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number less than `end`; 0 if that is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let wide = u128::from(self.next()) * end as u128;
        usize::try_from(wide >> 64).unwrap_or_default()
    }

    /// A number of a range, both ends included; the first if the range is empty.
    pub(crate) fn between(&mut self, first: i64, last: i64) -> i64 {
        let size = i128::from(last) - i128::from(first) + 1;
        let Ok(size) = u64::try_from(size) else { return first };
        let offset = i64::try_from((u128::from(self.next()) * u128::from(size)) >> 64).unwrap_or(0);
        first.saturating_add(offset)
    }

    /// True with the probability `times` / `of`.
    pub(crate) fn chance(&mut self, times: usize, of: usize) -> bool {
        self.below(of) < times
    }

    pub(crate) fn pick<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list.get(self.below(list.len())).copied().unwrap_or_default()
    }

    pub(crate) fn any<'t, T>(&mut self, list: &'t [T]) -> Option<&'t T> {
        list.get(self.below(list.len()))
    }
}
