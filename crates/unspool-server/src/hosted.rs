//! Tools that exist only on the servers of an API's provider. Clients offer them unasked, so the request is not
//! refused: they are omitted from the prompt, and the answer and the log say so.

use serde_json::Value;

/// Prefixes of their types.
const TYPES: [&str; 17] = [
    "advisor",
    "apply_patch",
    "bash",
    "code_execution",
    "code_interpreter",
    "computer",
    "file_search",
    "image_generation",
    "local_shell",
    "mcp",
    "memory",
    "shell",
    "str_replace_based_edit_tool",
    "text_editor",
    "tool_search",
    "web_fetch",
    "web_search",
];

/// Whether a tool of this type is one of them. Their types often end with a date.
pub(crate) fn is_hosted(kind: &str) -> bool {
    TYPES.iter().any(|own| kind.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('_')))
}

/// Whether an item or block of a conversation is from such a tool. The model never saw it.
pub(crate) fn tells_of_hosted(kind: &str) -> bool {
    let what = kind.strip_suffix("_call_output").or_else(|| kind.strip_suffix("_call"));
    let what = what.or_else(|| kind.strip_suffix("_tool_result")).unwrap_or(kind);
    let listed = ["server_tool_use", "mcp_tool_use", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"];
    listed.contains(&kind)
        || ["tool_search_output", "container_upload"].contains(&kind)
        || what != kind && is_hosted(what)
}

/// The omitted tools of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ignored(Vec<String>);

impl Ignored {
    /// Adds one, once.
    pub(crate) fn note(&mut self, what: &str) {
        if !self.0.iter().any(|known| known == what) {
            self.0.push(what.to_owned());
        }
    }

    /// The list for the answer, which is also logged; `None`: nothing was omitted.
    pub(crate) fn told(&self) -> Option<Value> {
        (!self.0.is_empty()).then(|| {
            tracing::warn!(tools = self.0.join(" "), "a request's tools that only its provider has are left out");
            self.0.clone().into()
        })
    }
}

/// Adds the list to an answer.
pub(crate) fn tell(ignored: Option<&Value>, answer: &mut Value) {
    if let Some(ignored) = ignored {
        answer["ignored_tools"] = ignored.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosted_tools_are_known_by_their_types() {
        for kind in [
            "web_search",
            "web_search_preview_2025_03_11",
            "bash_20250124",
            "computer_use_preview",
            "mcp",
            "mcp_toolset",
        ] {
            assert!(is_hosted(kind), "{kind}");
        }
        for kind in ["function", "custom", "namespace", "web_searcher", "", "custom_tool"] {
            assert!(!is_hosted(kind), "{kind}");
        }
        for kind in ["web_search_call", "web_search_tool_result", "server_tool_use", "mcp_call", "computer_call_output"]
        {
            assert!(tells_of_hosted(kind), "{kind}");
        }
        for kind in ["function_call", "custom_tool_call_output", "tool_result", "web_search", "image"] {
            assert!(!tells_of_hosted(kind), "{kind}");
        }
        let mut ignored = Ignored::default();
        assert_eq!(ignored.told(), None);
        ["mcp", "mcp", "bash"].iter().for_each(|what| ignored.note(what));
        assert_eq!(ignored.told(), Some(serde_json::json!(["mcp", "bash"])));
    }
}
