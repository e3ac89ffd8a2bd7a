//! The tools of a Responses request as functions of a chat request, and the way back.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::error::ApiError;
use crate::hosted::{Ignored, is_hosted};

/// The parameter for the entire input of a custom tool.
pub(super) const CUSTOM_INPUT: &str = "input";

/// A tool in the client's terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Own {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) custom: bool,
}

/// The tools of a request, in order, each with its name for the model.
#[derive(Debug, Default)]
pub(super) struct Tools {
    functions: Vec<(String, Value)>,
    owns: HashMap<String, Own>,
    /// The omitted tools.
    ignored: Ignored,
}

impl Tools {
    /// Reads `tools`.
    ///
    /// # Errors
    /// A tool of an unknown kind, or a repeated name.
    pub(super) fn read(tools: &[Value]) -> Result<Self, ApiError> {
        let mut out = Self::default();
        for (index, tool) in tools.iter().enumerate() {
            let place = format!("tools[{index}]");
            if is_hosted(kind(tool)) {
                out.ignored.note(kind(tool));
                continue;
            }
            if kind(tool) != "namespace" {
                out.add(tool, None, &place)?;
                continue;
            }
            let namespace = name(tool, &place)?;
            let inner = tool.get("tools").and_then(Value::as_array).filter(|inner| !inner.is_empty());
            let inner = inner.ok_or_else(|| {
                ApiError::bad_field(&format!("{place}.tools"), format!("the namespace `{namespace}` has no tools"))
            })?;
            for (number, tool) in inner.iter().enumerate() {
                out.add(tool, Some(namespace), &format!("{place}.tools[{number}]"))?;
            }
        }
        Ok(out)
    }

    fn add(&mut self, tool: &Value, namespace: Option<&str>, place: &str) -> Result<(), ApiError> {
        let custom = match kind(tool) {
            "function" => false,
            "custom" => true,
            other => {
                let message =
                    format!("a tool has the type `{other}`; functions, custom tools and namespaces of them are served");
                return Err(ApiError::bad_field(&format!("{place}.type"), message));
            }
        };
        if custom && tool.pointer("/format/type").is_some_and(|format| format == "grammar") {
            let message = "a custom tool has a grammar, to which a raw backend cannot be held";
            return Err(ApiError::bad_field(&format!("{place}.format"), message));
        }
        let own = name(tool, place)?;
        let flat = flat(namespace, own);
        let parameters = match tool.get("parameters") {
            _ if custom => json!({
                "type": "object", "properties": {CUSTOM_INPUT: {"type": "string"}}, "required": [CUSTOM_INPUT],
                "additionalProperties": false,
            }),
            None | Some(Value::Null) => json!({"type": "object", "properties": {}}),
            Some(parameters) => parameters.clone(),
        };
        let mut function = json!({"name": flat, "parameters": parameters});
        for key in ["description", "strict"] {
            if let Some(value) = tool.get(key).filter(|value| !value.is_null()) {
                function[key] = value.clone();
            }
        }
        let own = Own { name: own.to_owned(), namespace: namespace.map(str::to_owned), custom };
        if self.owns.insert(flat.clone(), own).is_some() {
            return Err(ApiError::bad_field(place, format!("there are two tools of the name `{flat}`")));
        }
        self.functions.push((flat, json!({"type": "function", "function": function})));
        Ok(())
    }

    /// The omitted tools.
    pub(super) fn ignored(&self) -> &Ignored {
        &self.ignored
    }

    /// The tool that the model calls `name`; an unknown name is a function's.
    pub(super) fn own(&self, name: &str) -> Own {
        let unknown = || Own { name: name.to_owned(), namespace: None, custom: false };
        self.owns.get(name).cloned().unwrap_or_else(unknown)
    }

    /// Adds the tools and the choice among them to a chat request.
    ///
    /// # Errors
    /// A choice that names no tool, or more than one.
    pub(super) fn offer(&mut self, choice: Option<&Value>, chat: &mut Map<String, Value>) -> Result<(), ApiError> {
        let choice = match choice {
            None | Some(Value::Null) => None,
            Some(Value::Object(choice)) => Some(self.choose(choice)?),
            Some(word) => Some(word.clone()),
        };
        if !self.functions.is_empty() {
            let functions: Vec<_> = self.functions.iter().map(|(_, function)| function.clone()).collect();
            chat.insert("tools".to_owned(), functions.into());
        } else if choice.as_ref().is_some_and(|choice| choice == "auto") {
            // The default choice of clients means nothing without tools.
            return Ok(());
        }
        if let Some(choice) = choice {
            chat.insert("tool_choice".to_owned(), choice);
        }
        Ok(())
    }

    fn choose(&mut self, choice: &Map<String, Value>) -> Result<Value, ApiError> {
        match choice.get("type").and_then(Value::as_str).unwrap_or_default() {
            "function" | "custom" => {
                let Some(name) = choice.get("name").and_then(Value::as_str) else {
                    return Err(ApiError::bad_field("tool_choice.name", "`tool_choice` names no tool"));
                };
                let name = match choice.get("namespace").and_then(Value::as_str) {
                    Some(namespace) => flat(Some(namespace), name),
                    None => name.to_owned(),
                };
                let flat = self.find(&name, "tool_choice.name")?;
                Ok(json!({"type": "function", "function": {"name": flat}}))
            }
            "allowed_tools" => self.allow(choice),
            other => {
                let message = format!("`tool_choice.type` is `{other}`; it must be function, custom or allowed_tools");
                Err(ApiError::bad_field("tool_choice.type", message))
            }
        }
    }

    /// Removes all but the allowed tools, so that the model does not see the others.
    fn allow(&mut self, choice: &Map<String, Value>) -> Result<Value, ApiError> {
        let mode = match choice.get("mode").and_then(Value::as_str) {
            Some(mode @ ("auto" | "required")) => json!(mode),
            _ => return Err(ApiError::bad_field("tool_choice.mode", "`tool_choice.mode` must be auto or required")),
        };
        let listed = choice.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if listed.is_empty() {
            return Err(ApiError::bad_field("tool_choice.tools", "`tool_choice` allows no tool"));
        }
        let mut allowed = Vec::new();
        for (index, tool) in listed.iter().enumerate() {
            let place = format!("tool_choice.tools[{index}]");
            if is_hosted(kind(tool)) {
                continue;
            }
            let own = name(tool, &place)?;
            if kind(tool) == "namespace" {
                let inside = |flat: &String| self.own(flat).namespace.as_deref() == Some(own);
                let names: Vec<_> = self.functions.iter().map(|(flat, _)| flat).filter(|flat| inside(flat)).collect();
                if names.is_empty() {
                    return Err(ApiError::bad_field(&place, format!("there is no namespace `{own}` among the tools")));
                }
                allowed.extend(names.into_iter().cloned());
            } else {
                allowed.push(self.find(own, &place)?);
            }
        }
        self.functions.retain(|(flat, _)| allowed.contains(flat));
        Ok(mode)
    }

    /// The flat name for a name in the request: the flat name itself, or a name that is unique among the namespaces.
    fn find(&self, name: &str, place: &str) -> Result<String, ApiError> {
        if self.owns.contains_key(name) {
            return Ok(name.to_owned());
        }
        let fits = |(flat, _): &&(String, Value)| self.own(flat).name == name;
        let found: Vec<_> = self.functions.iter().filter(fits).map(|(flat, _)| flat.clone()).collect();
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(ApiError::bad_field(place, format!("the tool `{name}` is not among the tools"))),
            several => {
                let message = format!("the tool `{name}` is in several namespaces: {}", several.join(", "));
                Err(ApiError::bad_field(place, message).hint("name it with its namespace, as `namespace__name`"))
            }
        }
    }
}

/// A tool's name for the model, as in vLLM.
pub(super) fn flat(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{namespace}__{name}"),
        None => name.to_owned(),
    }
}

/// The arguments for a custom tool's input.
pub(super) fn wrapped(input: &str) -> String {
    json!({ CUSTOM_INPUT: input }).to_string()
}

fn kind(tool: &Value) -> &str {
    tool.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn name<'a>(tool: &'a Value, place: &str) -> Result<&'a str, ApiError> {
    let name = tool.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    name.ok_or_else(|| ApiError::bad_field(&format!("{place}.name"), "a tool needs a `name`"))
}
