//! A hash that identifies a request.

use std::fmt::{self, Write as _};

use serde_json::{Map, Value};

/// Fields about the delivery or recipient of the answer, not its contents.
const NOT_ASKED: [&str; 10] = [
    "model",
    "stream",
    "stream_options",
    "n",
    "user",
    "request_id",
    "session_id",
    "metadata",
    "priority",
    "include_diagnostics",
];

/// The hash of a request: the same for the same question, whatever the order of its fields and its delivery. It does
/// not change between versions, so recorded outputs can be found by it.
#[must_use]
pub fn request_hash(request: &Map<String, Value>) -> u64 {
    let mut hash = Fnv(START);
    let asked = request.iter().filter(|(key, value)| !NOT_ASKED.contains(&key.as_str()) && !value.is_null());
    // The hash accepts everything.
    let _ = write_object(asked, &mut hash);
    hash.0
}

/// The hash of nothing.
const START: u64 = 0xcbf2_9ce4_8422_2325;

/// A hash of everything written to it.
struct Fnv(u64);

impl fmt::Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = fnv1a_on(self.0, text.as_bytes());
        Ok(())
    }
}

/// FNV-1a of some bytes.
#[must_use]
pub fn fnv1a(bytes: &[u8]) -> u64 {
    fnv1a_on(START, bytes)
}

fn fnv1a_on(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn write_object<'a>(entries: impl Iterator<Item = (&'a String, &'a Value)>, out: &mut Fnv) -> fmt::Result {
    let mut sorted: Vec<_> = entries.collect();
    sorted.sort_unstable_by_key(|(key, _)| *key);
    out.write_char('{')?;
    for (key, value) in sorted {
        write!(out, "{}:", Value::from(key.as_str()))?;
        write_value(value, out)?;
        out.write_char(',')?;
    }
    out.write_char('}')
}

fn write_value(value: &Value, out: &mut Fnv) -> fmt::Result {
    match value {
        Value::Object(map) => write_object(map.iter(), out),
        Value::Array(items) => {
            out.write_char('[')?;
            for item in items {
                write_value(item, out)?;
                out.write_char(',')?;
            }
            out.write_char(']')
        }
        other => write!(out, "{other}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hash(value: &Value) -> u64 {
        request_hash(value.as_object().expect("the test gives an object"))
    }

    #[test]
    fn order_and_delivery_do_not_matter() {
        let one = json!({"messages": [{"role": "user", "content": "Ahoy"}], "seed": 4, "stream": true});
        let two = json!({"n": 3, "seed": 4, "user": null, "messages": [{"content": "Ahoy", "role": "user"}]});
        let other = json!({"messages": [{"role": "user", "content": "Ahoy!"}], "seed": 4});
        assert_eq!(hash(&one), hash(&two));
        assert_ne!(hash(&one), hash(&other));
    }

    #[test]
    fn the_hash_is_the_same_in_every_version() {
        assert_eq!(
            format!("{:016x}", hash(&json!({"messages": []}))),
            format!("{:016x}", fnv1a(b"{\"messages\":[],}"))
        );
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
    }
}
