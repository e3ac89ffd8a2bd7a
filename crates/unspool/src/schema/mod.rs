//! Tools and their schemas, as far as typing needs them: which kinds of JSON value each parameter may be.
//!
//! A schema is compiled into a flat list of types on the function's first call, because most tools of a request are
//! never called. Invalid parts are ignored; compiling never fails.

mod compile;
mod fault;
mod kinds;

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use kinds::Kinds;

/// The tools of a request.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    functions: Vec<Function>,
    /// Indices in `functions`.
    by_name: HashMap<String, usize>,
}

/// A function, and its schema after first use.
#[derive(Debug, Clone)]
struct Function {
    definition: Definition,
    schema: OnceLock<FunctionSchema>,
}

/// A function as a request defines it.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// The JSON schema of its parameters; null if missing.
    pub parameters: Value,
    /// The request asks for strict adherence to its schema.
    pub strict: bool,
}

/// The types of one function's parameters.
#[derive(Debug, Clone, Default)]
pub struct FunctionSchema {
    /// The first is the object of all parameters. Types refer to each other by index, so a schema may be recursive.
    types: Vec<Type>,
    /// The unusable part of the schema.
    fault: Option<String>,
}

/// A type of a [`FunctionSchema`], by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TypeId(u32);

/// The type of one value.
#[derive(Debug, Clone, Default)]
pub(crate) struct Type {
    /// Kinds of JSON value; empty: the schema gives none.
    pub(crate) kinds: Kinds,
    /// If not empty: the only strings allowed (`enum`, `const`).
    pub(crate) strings: Vec<Box<str>>,
    /// Types of an object's members by name.
    properties: HashMap<Box<str>, TypeId>,
    /// Type of the other members.
    additional: Option<TypeId>,
    /// Types of an array's first items.
    first_items: Vec<TypeId>,
    /// Type of an array's (other) items.
    items: Option<TypeId>,
}

impl ToolSet {
    /// Reads OpenAI tools: a list of `{"type": "function", "function": {"name", "parameters"}}`, also flat (Responses
    /// API). A single tool counts as a list of one; schemas may be under `input_schema` or `inputSchema`, as in
    /// Anthropic's API and MCP. Invalid parts are ignored for typing and never an error.
    #[must_use]
    pub fn from_openai(tools: &Value) -> Self {
        let (mut functions, mut by_name) = (Vec::new(), HashMap::new());
        let alone = tools.is_object().then_some(tools);
        for tool in tools.as_array().into_iter().flatten().chain(alone) {
            let function = tool.get("function").filter(|f| f.is_object()).unwrap_or(tool);
            let Some(name) = function.get("name").and_then(Value::as_str) else { continue };
            let strict = function.get("strict").and_then(Value::as_bool).unwrap_or(false);
            let parameters = ["parameters", "input_schema", "inputSchema"].iter().find_map(|key| function.get(key));
            by_name.entry(name.to_owned()).or_insert_with(|| {
                let parameters = parameters.unwrap_or(&Value::Null);
                let definition = Definition { name: name.to_owned(), parameters: parameters.clone(), strict };
                functions.push(Function { definition, schema: OnceLock::new() });
                functions.len() - 1
            });
        }
        Self { functions, by_name }
    }

    /// The schema of a function.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&FunctionSchema> {
        self.at(self.position(name)?)
    }

    /// The index of a function, to look it up once per call rather than per delta.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The schema of the function with an index.
    pub(crate) fn at(&self, position: usize) -> Option<&FunctionSchema> {
        let function = self.functions.get(position)?;
        Some(function.schema.get_or_init(|| FunctionSchema::new(&function.definition.parameters)))
    }

    /// Whether a tool has `strict: true`.
    #[must_use]
    pub fn any_strict(&self) -> bool {
        self.definitions().any(|d| d.strict)
    }

    /// The functions in the order of the request; of two with one name the first.
    pub fn definitions(&self) -> impl ExactSizeIterator<Item = &Definition> {
        self.functions.iter().map(|function| &function.definition)
    }

    /// Whether the request has no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The functions' names, in no order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }
}

impl FunctionSchema {
    /// Compiles the JSON schema of a function's parameters.
    #[must_use]
    pub fn new(parameters: &Value) -> Self {
        Self { types: compile::types(parameters), fault: fault::find(parameters) }
    }

    /// Describes the part of the schema that cannot be used for typing: parameters that are not a schema, a broken
    /// reference.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Whether the function has a parameter of this name.
    pub(crate) fn declares(&self, parameter: &str) -> bool {
        self.types.first().is_some_and(|root| root.properties.contains_key(parameter))
    }

    /// The type of all parameters together.
    pub(crate) fn root(&self) -> Option<&Type> {
        self.types.first()
    }

    /// The type of a parameter, if the schema constrains it.
    pub(crate) fn parameter(&self, name: &str) -> Option<TypeId> {
        self.types.first()?.member(name)
    }

    /// The type with an index.
    pub(crate) fn get(&self, id: TypeId) -> Option<&Type> {
        self.types.get(id.0 as usize)
    }
}

impl Type {
    /// The type of an object's member.
    pub(crate) fn member(&self, name: &str) -> Option<TypeId> {
        self.properties.get(name).copied().or(self.additional)
    }

    /// Whether an object of this type has a member with this name; `None`: the schema does not say.
    pub(crate) fn declares(&self, name: &str) -> Option<bool> {
        (!self.properties.is_empty()).then(|| self.properties.contains_key(name))
    }

    /// The type of an array's item.
    pub(crate) fn item(&self, index: usize) -> Option<TypeId> {
        self.first_items.get(index).copied().or(self.items)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kinds(parameters: &Value, name: &str) -> String {
        let schema = FunctionSchema::new(parameters);
        schema.parameter(name).and_then(|id| schema.get(id)).map_or_else(String::new, |t| t.kinds.to_string())
    }

    #[test]
    fn kinds_are_found_wherever_a_schema_says_them() {
        let schema = json!({
            "properties": {
                "plain": {"type": "INT32"},
                "list": {"type": ["string", "null"]},
                "any_of": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/Nothing"}, {}]},
                "enum": {"enum": ["x", 1, 2.5, null]},
                "const": {"const": true},
                "narrowed": {"type": "number", "enum": [1, 2]},
                "nullable": {"type": "string", "nullable": true},
                "maybe_enum": {"type": ["string", "null"], "enum": ["a"]},
                "all_of": {"allOf": [{"type": ["integer", "string"]}, {"type": "integer"}]},
                "ref": {"$ref": "#/definitions/Box", "description": "where"},
                "implied": {"properties": {"a": {}}},
                "odd": {"type": "geo-point"},
                "silent": {"description": "?"},
                "broken": {"type": 7, "enum": "no", "anyOf": {}},
            },
            "$defs": {"Nothing": {"type": "null"}},
            "definitions": {"Box": {"type": "object"}},
        });
        for (name, expected) in [
            ("plain", "integer"),
            ("list", "null|string"),
            ("any_of", "null|integer"),
            ("enum", "null|integer|number|string"),
            ("const", "boolean"),
            ("narrowed", "integer"),
            ("nullable", "null|string"),
            ("maybe_enum", "null|string"),
            ("all_of", "integer"),
            ("ref", "object"),
            ("implied", "object"),
            ("odd", "any"),
            ("silent", ""),
            ("broken", ""),
            ("unknown", ""),
        ] {
            assert_eq!(kinds(&schema, name), expected, "{name}");
        }
    }

    #[test]
    fn a_recursive_schema_compiles() {
        let schema = FunctionSchema::new(&json!({
            "$ref": "#/$defs/Tree",
            "$defs": {
                "Tree": {"type": "object", "properties": {
                    "leaf": {"type": "integer"},
                    "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
                    "loop": {"$ref": "#/$defs/Loop"},
                }},
                "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"type": "boolean"}]},
            },
        }));
        let kids = schema.get(schema.parameter("kids").unwrap()).unwrap();
        let tree = schema.get(kids.item(3).unwrap()).unwrap();
        assert_eq!(schema.get(tree.member("leaf").unwrap()).unwrap().kinds.to_string(), "integer");
        assert_eq!(schema.get(schema.parameter("loop").unwrap()).unwrap().kinds.to_string(), "boolean");
    }

    #[test]
    fn strings_are_closed_only_if_every_branch_lists_them() {
        let schema = FunctionSchema::new(&json!({"properties": {
            "closed": {"anyOf": [{"const": "a"}, {"type": "string", "enum": ["b"]}, {"type": "integer"}]},
            "open": {"anyOf": [{"const": "a"}, {"type": "string"}]},
        }}));
        let strings = |name| schema.get(schema.parameter(name).unwrap()).unwrap().strings.clone();
        assert_eq!(strings("closed"), vec!["a".into(), "b".into()]);
        assert!(strings("open").is_empty());
    }

    #[test]
    fn tools_are_read_nested_and_flat_and_broken_ones_do_no_harm() {
        let tools = ToolSet::from_openai(&json!([
            {"type": "function", "function": {"name": "nested", "parameters": {"properties": {"a": {"type": "integer"}}}}},
            {"type": "function", "name": "flat", "parameters": {"properties": {"b": {"type": "boolean"}}}},
            {"type": "function", "function": {"name": "bare"}},
            {"type": "function", "function": {"name": "odd", "parameters": [1, "x"]}},
            {"type": "web_search"},
            3,
        ]));
        let mut names: Vec<_> = tools.names().collect();
        names.sort_unstable();
        assert_eq!(names, ["bare", "flat", "nested", "odd"]);
        assert!(tools.get("nested").unwrap().declares("a"));
        assert!(tools.get("flat").unwrap().declares("b"));
        assert!(tools.get("odd").unwrap().parameter("x").is_none());
        let fault = |name: &str| tools.get(name).unwrap().fault();
        assert_eq!((fault("bare"), fault("flat")), (None, None));
        assert_eq!(fault("odd"), Some("the parameters are no schema"));
        assert!(ToolSet::from_openai(&Value::Null).is_empty());
    }

    #[test]
    fn other_members_have_the_type_of_additional_properties() {
        let schema = json!({"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}});
        assert_eq!(kinds(&schema, "b"), "integer");
        assert!(!FunctionSchema::new(&schema).declares("b"));
    }
}
