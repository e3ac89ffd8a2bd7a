//! Images in a conversation, for models without vision.

use serde_json::{Value, json};

use super::{ChatRequest, MessageContent};

/// Replaces an image.
const PLACEHOLDER: &str = "(an image, which cannot be seen here)";

/// The types of image parts.
const KINDS: [&str; 3] = ["image_url", "input_image", "image"];

/// Replaces images by a text.
pub(super) fn hide(request: &mut ChatRequest) {
    for message in &mut request.messages {
        let Some(MessageContent::Parts(parts)) = &mut message.content else { continue };
        for part in parts.iter_mut().filter(|part| KINDS.contains(&part.kind.as_str())) {
            "text".clone_into(&mut part.kind);
            part.text = Some(PLACEHOLDER.to_owned());
        }
    }
    let parts = request.raw_messages.iter_mut().filter_map(|message| message.get_mut("content")?.as_array_mut());
    for part in parts.flatten() {
        if part.get("type").and_then(Value::as_str).is_some_and(|kind| KINDS.contains(&kind)) {
            *part = json!({"type": "text", "text": PLACEHOLDER});
        }
    }
}

/// An image part of a chat message.
pub(crate) fn part(url: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": url}})
}
