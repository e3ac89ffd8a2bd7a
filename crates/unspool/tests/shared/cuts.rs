//! Ways to cut an output, with a small generator of its own so that a failure can be repeated.

/// A piece of output as an engine would hand it over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    /// `None`: the ids alone.
    pub(crate) text: Option<String>,
    pub(crate) ids: Vec<u32>,
}

impl Piece {
    pub(crate) fn text(text: &str) -> Self {
        Self { text: Some(text.to_owned()), ids: Vec::new() }
    }

    pub(crate) fn ids(ids: &[u32]) -> Self {
        Self { text: None, ids: ids.to_vec() }
    }
}

/// The generator known as SplitMix64.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// A stream of numbers that depends on the name and the number alone.
    pub(crate) fn new(name: &str, number: u64) -> Self {
        let seed = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Self(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Every character a piece.
pub(crate) fn characters(text: &str) -> Vec<Piece> {
    text.chars().map(|c| Piece::text(c.encode_utf8(&mut [0; 4]))).collect()
}

/// Cuts between characters, coarse or fine by chance.
pub(crate) fn random_text(text: &str, random: &mut Random) -> Vec<Piece> {
    let mean = [2, 3, 6, 12, 40, 160][random.below(6) as usize];
    text_of_mean(text, mean, random)
}

/// Cuts between characters, `mean` characters apart on average.
pub(crate) fn text_of_mean(text: &str, mean: u64, random: &mut Random) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, _) in text.char_indices().skip(1) {
        if random.below(mean) == 0 {
            pieces.push(Piece::text(&text[start..at]));
            start = at;
        }
    }
    pieces.push(Piece::text(&text[start..]));
    pieces
}

/// Neighbouring pieces joined into groups, coarse or fine by chance.
pub(crate) fn random_groups(pieces: &[Piece], random: &mut Random) -> Vec<Piece> {
    let mean = [2, 3, 5, 9, 30][random.below(5) as usize];
    let mut groups: Vec<Piece> = Vec::new();
    for piece in pieces {
        match groups.last_mut() {
            Some(group) if random.below(mean) != 0 => {
                group.ids.extend_from_slice(&piece.ids);
                if let (Some(text), Some(more)) = (&mut group.text, &piece.text) {
                    text.push_str(more);
                }
            }
            _ => groups.push(piece.clone()),
        }
    }
    groups
}
