//! Limits the contents of a body, counted before anything is stored: a few bytes of JSON can take much memory.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::error::ApiError;

/// Number of JSON values that any body may have.
const FREE_VALUES: usize = 100_000;
/// Beyond those, one value per this many bytes of the body; texts are longer than that, and schemas nearly so.
const BYTES_PER_VALUE: usize = 24;

/// The limits of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyBounds {
    /// Messages, or items of the input.
    pub messages: usize,
    /// Tools, including those in namespaces.
    pub tools: usize,
    /// Parts of all messages.
    pub parts: usize,
}

impl Default for BodyBounds {
    fn default() -> Self {
        Self { messages: 10_000, tools: 1024, parts: 10_000 }
    }
}

impl BodyBounds {
    /// Reads a body without storing it.
    ///
    /// # Errors
    /// It is not JSON, or exceeds a limit.
    pub(crate) fn check(&self, body: &[u8]) -> Result<(), ApiError> {
        let mut count = Count { most_values: FREE_VALUES + body.len() / BYTES_PER_VALUE, ..Count::new(*self) };
        let mut json = serde_json::Deserializer::from_slice(body);
        let read = Walk { count: &mut count, place: Place::Body }.deserialize(&mut json).and_then(|()| json.end());
        match (count.refusal, read) {
            (Some(refusal), _) => Err(refusal),
            (None, Err(error)) => Err(not_json(&error)),
            (None, Ok(())) => Ok(()),
        }
    }

    /// Refuses only excessive nesting, for a body that is forwarded to a backend.
    ///
    /// # Errors
    /// It is not JSON, or too deeply nested.
    pub(crate) fn check_depth(body: &[u8]) -> Result<(), ApiError> {
        let most = usize::MAX;
        let mut count = Count { most_values: most, ..Count::new(Self { messages: most, tools: most, parts: most }) };
        let mut json = serde_json::Deserializer::from_slice(body);
        let read = Walk { count: &mut count, place: Place::Other }.deserialize(&mut json).and_then(|()| json.end());
        read.map_err(|error| not_json(&error))
    }
}

/// Maximum nesting of lists and objects in a body, itself included: that of the JSON parser.
const DEEPEST: usize = 127;

/// The error for an invalid body.
pub(crate) fn not_json(error: &serde_json::Error) -> ApiError {
    let words = error.to_string();
    if let Some(place) = words.strip_prefix("recursion limit exceeded") {
        return ApiError::bad_body(format!("the body is nested deeper than {DEEPEST} levels{place}"));
    }
    ApiError::bad_body(format!("the body is not JSON: {words}"))
}

/// The counts.
struct Count {
    bounds: BodyBounds,
    messages: usize,
    tools: usize,
    parts: usize,
    values: usize,
    most_values: usize,
    /// The current field of the body.
    field: String,
    refusal: Option<ApiError>,
}

impl Count {
    fn new(bounds: BodyBounds) -> Self {
        Self {
            bounds,
            messages: 0,
            tools: 0,
            parts: 0,
            values: 0,
            most_values: FREE_VALUES,
            field: String::new(),
            refusal: None,
        }
    }

    /// Counts an item of a list; fails beyond the limit.
    fn item<E: serde::de::Error>(&mut self, list: Place) -> Result<(), E> {
        let (count, most, what, flag) = match list {
            Place::Messages => (&mut self.messages, self.bounds.messages, "messages", "--max-messages"),
            Place::Tools => (&mut self.tools, self.bounds.tools, "tools", "--max-tools"),
            Place::Content => (&mut self.parts, self.bounds.parts, "parts of messages", "--max-parts"),
            Place::Body | Place::Message | Place::Tool | Place::Other => return Ok(()),
        };
        *count += 1;
        if *count <= most {
            return Ok(());
        }
        let error = ApiError::bad_field(&self.field, format!("`{}` holds more than {most} {what}", self.field));
        self.refuse(error.hint(format!("the server's {flag} sets how many are allowed")))
    }

    fn value<E: serde::de::Error>(&mut self) -> Result<(), E> {
        self.values += 1;
        if self.values <= self.most_values {
            return Ok(());
        }
        let message =
            format!("a body of this length may hold {} JSON values; `{}` has more", self.most_values, self.field);
        let error = ApiError::bad_field(&self.field, message);
        self.refuse(error.hint("leave out lists and objects that nobody reads"))
    }

    fn refuse<E: serde::de::Error>(&mut self, error: ApiError) -> Result<(), E> {
        self.refusal = Some(error);
        Err(E::custom("too much"))
    }
}

/// The position of a value in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Body,
    Messages,
    Message,
    Content,
    Tools,
    Tool,
    Other,
}

impl Place {
    /// The position of the value under this key.
    fn under(self, key: &str) -> Self {
        match (self, key) {
            (Self::Body, "messages" | "input") => Self::Messages,
            (Self::Body | Self::Tool, "tools") => Self::Tools,
            // The system prompt of the Messages API is a list of parts as well.
            (Self::Body, "system") | (Self::Message, "content" | "output" | "summary") => Self::Content,
            _ => Self::Other,
        }
    }

    /// The position of an item of the list at this position.
    fn item(self) -> Self {
        match self {
            Self::Messages => Self::Message,
            Self::Tools => Self::Tool,
            // Tool results are parts that contain parts.
            Self::Content => Self::Message,
            Self::Body | Self::Message | Self::Tool | Self::Other => Self::Other,
        }
    }
}

struct Walk<'c> {
    count: &'c mut Count,
    place: Place,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        self.count.value()
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<(), E> {
        self.count.value()
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<(), E> {
        self.count.value()
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        self.count.value()
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<(), E> {
        self.count.value()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.count.value()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.count.value::<A::Error>()?;
        let place = self.place.item();
        while list.next_element_seed(Walk { count: self.count, place })?.is_some() {
            self.count.item::<A::Error>(self.place)?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.count.value::<A::Error>()?;
        while let Some(place) = map.next_key_seed(Key { count: self.count, place: self.place })? {
            map.next_value_seed(Walk { count: self.count, place })?;
        }
        Ok(())
    }
}

/// The key of an object's member, which determines the position of its value.
struct Key<'c> {
    count: &'c mut Count,
    place: Place,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Place;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Place, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Place;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<Place, E> {
        if self.place == Place::Body {
            // It appears in messages.
            self.count.field = key.chars().take(LONGEST_FIELD).collect();
        }
        Ok(self.place.under(key))
    }
}

/// Maximum length of a field's name in a message, in characters.
const LONGEST_FIELD: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn told(body: &str) -> Option<(String, String)> {
        let error = BodyBounds::default().check(body.as_bytes()).err()?;
        assert_eq!(error.status.as_u16(), 400);
        Some((error.param.unwrap_or_default(), error.message))
    }

    /// A list of `count` items.
    fn list(item: &str, count: usize) -> String {
        format!("[{}]", vec![item; count].join(","))
    }

    #[test]
    fn lists_are_counted_up_to_their_bounds() {
        let bounds = BodyBounds::default();
        let message = |parts: &str| format!("{{\"role\":\"user\",\"content\":{parts}}}");
        let nested = message(&list(&format!("{{\"content\":{}}}", list("{}", 99)), 100));
        for (body, most, param) in [
            (("{\"messages\":", "{}"), bounds.messages, "messages"),
            (("{\"input\":", "{}"), bounds.messages, "input"),
            (("{\"tools\":", "{}"), bounds.tools, "tools"),
            (("{\"tools\":", "{\"tools\":[{}]}"), bounds.tools / 2, "tools"),
            (("{\"system\":", "{}"), bounds.parts, "system"),
        ] {
            let with = |count| told(&format!("{}{}}}", body.0, list(body.1, count)));
            assert_eq!(with(most), None, "{param}");
            assert_eq!(with(most + 1).map(|told| told.0).as_deref(), Some(param));
        }
        assert_eq!(told(&format!("{{\"messages\":[{}]}}", message(&list("{}", bounds.parts)))), None);
        let several = list(&message(&list("{}", bounds.parts / 10)), 11);
        let refused = told(&format!("{{\"messages\":{several}}}")).expect("all parts together are too many");
        assert_eq!(refused.0, "messages");
        assert_eq!(told(&format!("{{\"messages\":[{nested}]}}")), None, "100 parts with 99 each");
        let more = told(&format!("{{\"messages\":[{nested},{nested}]}}"));
        assert!(more.is_some_and(|told| told.1.contains("parts")), "parts in parts count");
    }

    #[test]
    fn values_are_few_for_the_length_of_a_body() {
        let many = |count: usize| format!("{{\"x\":{}}}", list("0", count));
        assert_eq!(told(&many(FREE_VALUES)), None);
        let (field, message) = told(&many(1 << 20)).expect("numbers of one digit");
        assert!(field == "x" && message.contains("JSON values"), "{message}");
        let long = format!("{{\"x\":{}}}", list("\"a text of thirty-two characters!\"", 1 << 18));
        assert_eq!(told(&long), None);
    }

    #[test]
    fn what_is_not_json_is_told_as_such() {
        for body in ["", "{", "[1,]", "{\"a\":1}x"] {
            assert!(told(body).is_some_and(|told| told.1.starts_with("the body is not JSON: ")), "{body}");
        }
    }

    #[test]
    fn depth_has_one_bound() {
        let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
        let words = "the body is nested deeper than 127 levels";
        for check in [|body: &[u8]| BodyBounds::default().check(body), BodyBounds::check_depth] {
            assert_eq!(check(nested(DEEPEST).as_bytes()), Ok(()));
            let told = check(nested(DEEPEST + 1).as_bytes()).expect_err("one level too many");
            assert!(told.message.starts_with(words), "{}", told.message);
            assert!(check("[".repeat(1000).as_bytes()).is_err_and(|told| told.message.starts_with(words)));
        }
        let ids = format!("{{\"prompt\":{}}}", list("1", 1 << 20));
        assert_eq!(BodyBounds::check_depth(ids.as_bytes()), Ok(()), "a prompt may be a million ids");
    }
}
