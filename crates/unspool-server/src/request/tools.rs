//! The checks of `tools` and `tool_choice`.

use serde_json::Value;
use unspool::suggest::{did_you_mean, near};
use unspool::{Request, ToolChoice};

use super::body::ChatBody;
use crate::error::ApiError;

/// Maximum length of a function name, in bytes: the parser's limit `name`.
const LONGEST_NAME: usize = 256;

/// What the server's flags allow.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolRules {
    /// `--tool-call-parser` names a format.
    pub has_parser: bool,
    /// `--enable-auto-tool-choice` is set.
    pub auto: bool,
}

/// Reads the parser's fields of a request, and refuses what vLLM refuses.
pub(super) fn read(body: &Value, parsed: &ChatBody, rules: ToolRules) -> Result<Request, ApiError> {
    let names = function_names(body.get("tools").and_then(Value::as_array).map(Vec::as_slice))?;
    let choice = body.get("tool_choice");
    check_choice(choice)?;
    let mut request = Request::from_openai(body)?;
    let Some(names) = names else {
        // Clients that send an empty list send the default choice with it.
        let is_default = request.tool_choice == ToolChoice::Auto && body.get("tools").is_some_and(Value::is_array);
        if matches!(choice, Some(value) if !value.is_null()) && request.tool_choice != ToolChoice::None && !is_default {
            return Err(ApiError::bad_field("tool_choice", "`tool_choice` needs `tools`"));
        }
        request.tool_choice = ToolChoice::None;
        return Ok(request);
    };
    match &request.tool_choice {
        ToolChoice::None => {}
        // Null is no choice: it is neither checked nor applied if calls are off.
        ToolChoice::Auto if choice.is_some_and(Value::is_null) => {
            if !(rules.auto && rules.has_parser) {
                request.tool_choice = ToolChoice::None;
            }
        }
        ToolChoice::Auto if !(rules.auto && rules.has_parser) => {
            return Err(ApiError::bad_field(
                "tool_choice",
                "this server does not let the model choose whether to call tools",
            )
            .hint("start it with --enable-auto-tool-choice and --tool-call-parser, or send `tool_choice: \"none\"`"));
        }
        ToolChoice::Required if !rules.has_parser => return Err(no_parser("required")),
        ToolChoice::Named(name) => {
            if !rules.has_parser {
                return Err(no_parser(name));
            }
            named(name, &names, parsed)?;
        }
        ToolChoice::Auto | ToolChoice::Required => {}
    }
    Ok(request)
}

fn no_parser(choice: &str) -> ApiError {
    ApiError::bad_field("tool_choice", format!("this server cannot serve the tool choice `{choice}`"))
        .hint("start it with --tool-call-parser")
}

fn named(name: &str, names: &[String], parsed: &ChatBody) -> Result<(), ApiError> {
    if !names.iter().any(|own| own == name) {
        let message = format!("`tool_choice` names the function `{name}`, which is not among the tools");
        let near = did_you_mean(&near(name, names.iter().map(String::as_str)));
        let hint = near.unwrap_or_else(|| format!("the tools are `{}`", names.join("`, `")));
        return Err(ApiError::bad_field("tool_choice", message).hint(hint));
    }
    if parsed.structured_outputs.as_ref().is_some_and(|value| !value.is_null()) {
        let message = "`structured_outputs` cannot go with a `tool_choice` that names a function";
        return Err(ApiError::bad_field("structured_outputs", message));
    }
    Ok(())
}

/// The functions of the tools; `None` if the request has none.
fn function_names(tools: Option<&[Value]>) -> Result<Option<Vec<String>>, ApiError> {
    let Some(tools) = tools else { return Ok(None) };
    // Many clients send an empty list instead of none.
    if tools.is_empty() {
        return Ok(None);
    }
    let mut names: Vec<String> = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let field = format!("tools[{index}]");
        let name = function_name(&field, tool)?;
        if let Some(other) = names.iter().position(|known| *known == name) {
            let message = format!("the name `{name}` is that of tools[{other}] already");
            return Err(ApiError::bad_field(&format!("{field}.function.name"), message)
                .hint("give each function a name of its own"));
        }
        names.push(name);
    }
    Ok(Some(names))
}

/// Checks a tool and returns the name of its function.
fn function_name(field: &str, tool: &Value) -> Result<String, ApiError> {
    match tool.get("type").and_then(Value::as_str) {
        Some("function") => {}
        Some(other) => {
            return Err(ApiError::bad_field(field, format!("a tool's `type` is `{other}`; only functions are served")));
        }
        None => {
            return Err(ApiError::bad_field(field, "a tool needs `type: \"function\"`").hint(
                "write {\"type\": \"function\", \"function\": {\"name\": …, \"parameters\": …}}; what MCP calls `inputSchema` and \
                 Anthropic `input_schema` goes to `parameters`",
            ));
        }
    }
    let function = tool.get("function").unwrap_or(&Value::Null);
    for (key, fits, kind) in [
        ("parameters", Value::is_object as fn(&Value) -> bool, "a JSON schema, that is, an object"),
        ("description", Value::is_string, "a text"),
        ("strict", Value::is_boolean, "true or false"),
    ] {
        if function.get(key).is_some_and(|value| !value.is_null() && !fits(value)) {
            return Err(ApiError::bad_field(&format!("{field}.function.{key}"), format!("`{key}` must be {kind}")));
        }
    }
    let fault = |message: &str| ApiError::bad_field(&format!("{field}.function.name"), message);
    match function.get("name").and_then(Value::as_str) {
        None | Some("") => Err(fault("a tool's function needs a name")),
        Some(name) if name.len() > LONGEST_NAME => {
            Err(fault(&format!("a function's name has at most {LONGEST_NAME} bytes; this one has {}", name.len())))
        }
        Some(name) => match name.chars().find(|c| !names_a_function(*c)) {
            Some(c) => Err(fault(&format!("a function's name cannot hold {c:?}, which no model's syntax can say"))
                .hint("letters, digits, `_`, `-`, `.`, `:` and `/` are safe in every format")),
            None => Ok(name.to_owned()),
        },
    }
}

/// Whether formats can express this character in a name: some markup ends a name at other characters.
fn names_a_function(c: char) -> bool {
    !(c.is_whitespace() || c.is_control() || "<>{}[]()\"'`".contains(c))
}

/// Checks that the choice has one of the four forms; the error has the exact path.
fn check_choice(choice: Option<&Value>) -> Result<(), ApiError> {
    let fault = |param: &str, message: &str| Err(ApiError::bad_field(param, message));
    match choice {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(word)) if ["none", "auto", "required"].contains(&word.as_str()) => Ok(()),
        Some(Value::String(word)) => {
            fault("tool_choice", &format!("`tool_choice` is `{word}`; it must be none, auto, required or a function"))
        }
        Some(Value::Object(object)) => {
            if object.get("type").and_then(Value::as_str) != Some("function") {
                return fault("tool_choice", "`tool_choice` must have `type: \"function\"`");
            }
            match object.get("function").map(|function| function.get("name")) {
                None => fault("tool_choice.function", "`tool_choice` has no `function`"),
                Some(Some(Value::String(name))) if !name.is_empty() => Ok(()),
                Some(_) => fault("tool_choice.function.name", "the function of `tool_choice` has no name"),
            }
        }
        Some(_) => fault("tool_choice", "`tool_choice` must be none, auto, required or a function"),
    }
}
