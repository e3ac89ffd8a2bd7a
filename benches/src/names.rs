//! The rows of the tables: every name of both lists, each in a pair that servers run.

use serde_json::{Value, json};
use unspool::Pair;
use unspool::{Half, Message, Registry, Request, Setup, Vocabulary};

/// A pair of names, and what the others call the same format.
#[derive(Clone)]
pub(crate) struct Names {
    pub(crate) reasoning: Option<String>,
    pub(crate) tools: Option<String>,
    /// Reasoning parser and tool parser of smg.
    pub(crate) smg: Option<(&'static str, &'static str)>,
    /// Unified family of dynamo-parsers-v2.
    pub(crate) dynamo: Option<&'static str>,
}

/// What other parsers read too: our two names, smg's two, and dynamo's.
type Known = (&'static str, &'static str, Option<(&'static str, &'static str)>, Option<&'static str>);
const KNOWN: &[Known] = &[
    ("qwen3", "hermes", Some(("qwen3", "qwen")), None),
    ("deepseek_r1", "deepseek_v3", Some(("deepseek_r1", "deepseek")), None),
    ("kimi_k2", "kimi_k2", Some(("kimi_thinking", "kimik2")), Some("kimi_k2")),
    ("qwen3", "llama3_json", Some(("qwen3", "llama")), None),
    ("qwen3", "qwen3_coder", Some(("qwen3", "qwen_xml")), Some("qwen3")),
    ("glm45", "glm47", Some(("glm45", "glm47_moe")), Some("glm47")),
    ("deepseek_v4", "deepseek_v4", Some(("deepseek_v4", "deepseek_v4")), Some("deepseek_v4")),
    ("minimax_m2", "minimax_m2", Some(("minimax", "minimax_m2")), None),
    ("minimax_m3", "minimax_m3", Some(("minimax_m3", "minimax_m3")), Some("minimax_m3")),
    ("gemma4", "gemma4", Some(("gemma4", "gemma4")), Some("gemma4")),
    ("openai_gptoss", "openai", None, Some("harmony")),
];

/// Names whose words come with the checkpoint. It is one that writes as `qwen3` and `hermes` do.
const OF_CHECKPOINT: [&str; 2] = ["hf", "beam"];

/// Every name at least once: those that others read as well, every other tool parser beside a partner, and the reasoning parsers
/// that are left.
pub(crate) fn all() -> Vec<Names> {
    let registry = Registry::builtin();
    let mut all: Vec<Names> = KNOWN
        .iter()
        .map(|&(reasoning, tools, smg, dynamo)| Names {
            reasoning: Some(reasoning.into()),
            tools: Some(tools.into()),
            smg,
            dynamo,
        })
        .collect();
    for tools in registry.names(Half::Tools) {
        if !all.iter().any(|n| n.tools.as_ref() == Some(&tools)) {
            let partners = registry.partners(Half::Tools, &tools);
            let fresh = partners.iter().find(|p| !all.iter().any(|n| n.reasoning.as_ref() == Some(p)));
            let reasoning = fresh.or(partners.first()).cloned();
            all.push(Names { reasoning, tools: Some(tools), smg: None, dynamo: None });
        }
    }
    for reasoning in registry.names(Half::Reasoning) {
        if !all.iter().any(|n| n.reasoning.as_ref() == Some(&reasoning)) {
            let tools = registry.partners(Half::Reasoning, &reasoning).into_iter().next();
            all.push(Names { reasoning: Some(reasoning), tools, smg: None, dynamo: None });
        }
    }
    all
}

/// What a request asks beside its tools: thoughts, which some formats write only then.
pub(crate) fn body(tools: &Value) -> Value {
    let switches = json!({"enable_thinking": true, "thinking": true});
    json!({"tools": tools, "chat_template_kwargs": switches, "reasoning_effort": "high"})
}

impl Names {
    /// As in the tables: `reasoning / tools`.
    pub(crate) fn shown(&self) -> String {
        let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".into());
        format!("{} / {}", name(&self.reasoning), name(&self.tools))
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        [&self.reasoning, &self.tools].into_iter().flatten().any(|own| own == name)
    }

    fn of_checkpoint(&self) -> bool {
        OF_CHECKPOINT.iter().any(|name| self.is(name))
    }

    pub(crate) fn pair(&self, vocabulary: Vocabulary) -> Pair {
        let tokenizer_config = if self.of_checkpoint() { template() } else { Value::Null };
        let setup = Setup {
            reasoning_parser: self.reasoning.clone(),
            tool_parser: self.tools.clone(),
            vocabulary,
            tokenizer_config,
            ..Setup::default()
        };
        Registry::builtin().pair(&setup).unwrap_or_else(|e| panic!("{}: {e}", self.shown()))
    }

    /// A message as the model writes it, without the parts that this format cannot say. Gives the message as it is then.
    pub(crate) fn write(&self, message: &Message, request: &Request) -> Result<(String, Message), String> {
        if self.tools.is_none() && !message.tool_calls.is_empty() {
            return Err("no tool parser".into());
        }
        let writer = if self.of_checkpoint() { qwen() } else { self.pair(Vocabulary::default()) };
        let mut fault = String::new();
        for version in versions(message) {
            if bytes(&version) * 4 < bytes(message) {
                // What the input is about would be missing.
                break;
            }
            match writer.render(&version, request) {
                Ok(text) => return Ok((text, version)),
                Err(error) if fault.is_empty() => fault = error.to_string(),
                Err(_) => {}
            }
        }
        Err(fault)
    }
}

fn bytes(message: &Message) -> usize {
    let calls = message.tool_calls.iter().map(|call| call.name.len() + call.arguments.len());
    message.reasoning.len() + message.content.len() + calls.sum::<usize>()
}

/// A message in full, and what formats that cannot say all of it can say.
fn versions(message: &Message) -> Vec<Message> {
    let Message { reasoning, content, .. } = message;
    let version = |reasoning: &str, content: &str| Message {
        reasoning: reasoning.to_owned(),
        content: content.to_owned(),
        ..message.clone()
    };
    let thought_in_content = format!("<think>{reasoning}</think>{content}");
    let mut versions = vec![message.clone(), version("", content), version("", &thought_in_content)];
    if !message.tool_calls.is_empty() {
        versions.extend([version(reasoning, ""), version("", "")]);
    }
    versions
}

fn qwen() -> Pair {
    let names = Names { reasoning: Some("qwen3".into()), tools: Some("hermes".into()), smg: None, dynamo: None };
    names.pair(Vocabulary::default())
}

/// The template of a checkpoint that writes as `qwen3` and `hermes` do.
fn template() -> Value {
    json!({"response_template": {"version": 1, "start_anchor": "<|im_start|>assistant\n", "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "content": {},
        "tool_calls": {
            "open": "<tool_call>", "close": "</tool_call>", "content": "json", "repeats": true,
            "transform": {"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}}}}}})
}
