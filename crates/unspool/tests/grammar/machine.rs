//! llguidance over a small vocabulary: bytes, and the markers of a format.

use std::sync::Arc;

use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use toktrie::{ApproximateTokEnv, InferenceCapabilities, TokEnv, TokRxInfo, TokTrie};

/// Random numbers that are the same in every run.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(name: &str, number: u64) -> Self {
        let seed = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Self(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }

    fn float(&mut self) -> f64 {
        self.below(1 << 30) as f64 / f64::from(1 << 30)
    }
}

/// What tokens a vocabulary has beside the bytes and the markers.
const PIECES: &[&str] =
    &["é", "潮", "🌊", "\": ", "\", \"", "true", "null", "the", " quay", "12", "\\n", "\\\"", "\\u00e9"];
/// Tokens after which a sample looks for its end.
const LONG: usize = 90;
/// Tokens after which a sample is given up: the grammar does not let it end.
const LONGEST: usize = 6000;

/// A vocabulary and what compiles grammars for it.
pub(crate) struct Machine {
    words: Vec<Vec<u8>>,
    eos: u32,
    /// Tokens that begin calls.
    triggers: Vec<u32>,
    factory: ParserFactory,
}

impl Machine {
    pub(crate) fn new(markers: &[String], triggers: &[String]) -> Self {
        let mut words: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        for piece in markers.iter().chain(triggers).map(String::as_str).chain(PIECES.iter().copied()) {
            if piece.len() > 1 && words.iter().all(|w| w != piece.as_bytes()) {
                words.push(piece.as_bytes().to_vec());
            }
        }
        let eos = words.len() as u32;
        words.push(b"\xff<eos>".to_vec());
        let info = TokRxInfo::new(words.len() as u32, eos);
        let env: TokEnv = Arc::new(ApproximateTokEnv::new(TokTrie::from(&info, &words)));
        let mut factory = ParserFactory::new(&env, InferenceCapabilities::default(), &[]).unwrap();
        factory.quiet();
        let is_trigger = |i: &usize| triggers.iter().any(|t| t.as_bytes() == words[*i]);
        let triggers = (0..words.len()).filter(is_trigger).map(|i| i as u32).collect();
        Self { words, eos, triggers, factory }
    }

    /// Compiles a grammar.
    pub(crate) fn matcher(&self, grammar: &str) -> Result<Matcher, String> {
        let matcher = Matcher::new(self.factory.create_parser(TopLevelGrammar::from_lark(grammar.to_owned())));
        match matcher.get_error() {
            Some(error) => {
                Err(format!("the grammar does not compile: {}", error.lines().take(6).collect::<Vec<_>>().join("\n")))
            }
            None => Ok(matcher),
        }
    }

    /// Feeds a text token by token, markers as one token where they stand. An error says where it is refused.
    pub(crate) fn accepts(&self, matcher: &mut Matcher, text: &str) -> Result<(), String> {
        matcher.reset().map_err(|e| e.to_string())?;
        let mut at = 0;
        while at < text.len() {
            let rest = &text.as_bytes()[at..];
            let token = (0..self.words.len() - 1)
                .filter(|i| rest.starts_with(&self.words[*i]))
                .max_by_key(|i| self.words[*i].len());
            let token = token.unwrap_or(0);
            if matcher.try_consume_tokens(&[token as u32]).map_err(|e| e.to_string())? == 0 {
                return Err(format!("refused behind {:?} at {:?}", &text[..at], String::from_utf8_lossy(rest)));
            }
            at += self.words[token].len();
        }
        match matcher.is_accepting() {
            Ok(true) => Ok(()),
            Ok(false) => Err("refused at its end".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// A random text of the grammar.
    pub(crate) fn sample(&self, matcher: &mut Matcher, random: &mut Random) -> Result<String, String> {
        matcher.reset().map_err(|e| e.to_string())?;
        let mut out = Vec::new();
        let long = random.below(LONG);
        for step in 0..LONGEST {
            if matcher.is_stopped() {
                return String::from_utf8(out).map_err(|e| e.to_string());
            }
            let forced = matcher.compute_ff_bytes();
            let mask = matcher.compute_mask().map_err(|e| e.to_string())?;
            let token = if forced.is_empty() {
                if step == 0 {
                    self.pick(&mask.to_list(), random, 3, false)
                } else {
                    self.pick(&mask.to_list(), random, 40, step > long)
                }
            } else {
                let fits = |i: &u32| forced.starts_with(&self.words[*i as usize]);
                mask.to_list().into_iter().filter(fits).max_by_key(|i| self.words[*i as usize].len())
            };
            let Some(token) = token else {
                return Err(format!("nothing may follow {:?}", String::from_utf8_lossy(&out)));
            };
            if token == self.eos {
                return String::from_utf8(out).map_err(|e| e.to_string());
            }
            matcher.consume_token(token).map_err(|e| e.to_string())?;
            out.extend_from_slice(&self.words[token as usize]);
        }
        Err(format!("a text without end: {:?}", String::from_utf8_lossy(&out[..out.len().min(500)])))
    }

    fn pick(&self, allowed: &[u32], random: &mut Random, rare: usize, long: bool) -> Option<u32> {
        if random.below(rare) == 0 {
            // Brackets begin calls, and few tokens are brackets.
            let first = |t: &u32| self.words[*t as usize].first().copied();
            let at_start = |t: &u32| matches!(first(t), Some(b'[' | b'{')) && self.words[*t as usize].len() == 1;
            let brackets = |t: &&u32| {
                if rare < 10 { at_start(t) } else { matches!(first(t), Some(b'[' | b'{' | b'<')) }
            };
            let brackets: Vec<u32> = allowed.iter().filter(brackets).copied().collect();
            if !brackets.is_empty() {
                return Some(brackets[random.below(brackets.len())]);
            }
        }
        let weight = |token: u32| -> f64 {
            if token == self.eos {
                return if long { 500.0 } else { 3.0 };
            }
            if self.triggers.contains(&token) {
                return 40.0;
            }
            match self.words[token as usize].as_slice() {
                [byte] => match byte {
                    b'"' | b'}' | b']' | b')' | b'\'' | b'>' => {
                        if long {
                            60.0
                        } else {
                            5.0
                        }
                    }
                    b' ' | b'\n' | b'<' | b'[' | b'{' | b',' | b':' => 3.0,
                    0..0x20 | 0x80.. => 0.05,
                    _ => 1.0,
                },
                _ => {
                    if long {
                        40.0
                    } else {
                        4.0
                    }
                }
            }
        };
        let total: f64 = allowed.iter().map(|t| weight(*t)).sum();
        let mut at = random.float() * total;
        for token in allowed {
            at -= weight(*token);
            if at <= 0.0 {
                return Some(*token);
            }
        }
        allowed.last().copied()
    }
}
