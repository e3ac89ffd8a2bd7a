//! Tools whose schemas use what schemas can say.

use serde_json::{Value, json};

use super::pairs::Names;

/// Strict tools that a format can write.
pub(crate) fn tools(names: &Names) -> Value {
    let function = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    let pythonic =
        ["pythonic", "llama4_pythonic", "olmo3", "lfm2"].contains(&names.tools.as_deref().unwrap_or_default());
    let dashed = if pythonic { "draught_at" } else { "draught-at" };
    json!([
        function(
            "tide",
            json!({
                "type": "object",
                "properties": {
                    "port": {"type": "string"},
                    "days": {"type": "integer", "minimum": 0},
                    "height": {"type": "number"},
                    "wet": {"type": "boolean"},
                    "note": {"type": ["string", "null"]},
                    "scale": {"enum": ["m", "ft", 3]},
                    "marks": {"type": "array", "items": {"type": "string"}},
                    "boat": {
                        "type": "object",
                        "properties": {"name": {"type": "string"}, "feet": {"type": "number"}, "crew": {"type": "array", "items": {"type": "string"}}},
                        "required": ["name"],
                        "additionalProperties": false,
                    },
                },
                "required": ["port", "scale"],
                "additionalProperties": false,
            })
        ),
        function(
            "harbour.log-2",
            json!({
                "type": "object",
                "properties": {"text": {"type": "string"}, dashed: {"type": "number", "minimum": 0, "maximum": 30}},
                "required": ["text"],
            })
        ),
        function("ping", json!({"type": "object", "properties": {}})),
        function(
            "plan",
            json!({
                "type": "object",
                "properties": {
                    "code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"},
                    "short": {"type": "string", "minLength": 1, "maxLength": 4},
                    "leg": {"$ref": "#/$defs/leg"},
                    "when": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"hour": {"type": "integer", "minimum": 0, "maximum": 23}}, "required": ["hour"], "additionalProperties": false}]},
                    "fixed": {"const": "low water"},
                },
                "required": ["leg", "code"],
                "$defs": {"leg": {
                    "type": "object",
                    "properties": {"to": {"type": "string"}, "next": {"anyOf": [{"$ref": "#/$defs/leg"}, {"type": "null"}]}},
                    "required": ["to"],
                    "additionalProperties": false,
                }},
            })
        ),
    ])
}
