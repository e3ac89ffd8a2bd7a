//! The other parsers, as their serving layers use them.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use dynamo::{UnifiedParser, UnifiedParserEvent, UnifiedParserInit, UnifiedParserOutput, UnifiedParserStartingState};
use dynamo_parsers_v2 as dynamo;
use openai_protocol::common::Tool;
use reasoning_parser::ReasoningParser;
use serde_json::Value;
use tool_parser::ToolParser;
use unspool::Delta;

use crate::answer::Answer;
use crate::contest::{Contestant, Maker};
use crate::names::Names;

/// Whether the prompt has opened the thought, so that the output does not.
fn opened_by_prompt(sample: &str) -> bool {
    sample.contains("</think>") && !sample.contains("<think>")
}

/// smg: what its reasoning parser calls normal text goes to its tool parser.
struct Smg {
    reasoning: Box<dyn ReasoningParser>,
    calls: Box<dyn ToolParser>,
    tools: Vec<Tool>,
}

struct SmgMaker {
    thoughts: reasoning_parser::ParserFactory,
    callers: tool_parser::ParserFactory,
    names: (&'static str, &'static str),
    opened: bool,
    tools: Vec<Tool>,
}

pub(crate) fn smg(names: &Names, sample: &str, tools: &Value) -> Option<Box<dyn Maker>> {
    Some(Box::new(SmgMaker {
        thoughts: reasoning_parser::ParserFactory::new(),
        callers: tool_parser::ParserFactory::new(),
        names: names.smg?,
        opened: opened_by_prompt(sample),
        tools: serde_json::from_value(tools.clone()).expect("tools"),
    }))
}

impl SmgMaker {
    fn make(&self, tools: Vec<Tool>) -> Box<dyn Contestant> {
        let (reasoning, calls) = self.names;
        let mut reasoning = self.thoughts.registry().create_parser(reasoning).expect("a reasoning parser of smg");
        if self.opened {
            reasoning.mark_reasoning_started();
            reasoning.mark_think_start_stripped();
        }
        let calls = self.callers.registry().create_parser(calls).expect("a tool parser of smg");
        Box::new(Smg { reasoning, calls, tools })
    }
}

impl Maker for SmgMaker {
    fn parser(&self) -> Box<dyn Contestant> {
        self.make(self.tools.clone())
    }

    fn request(&self, body: &Value) -> Box<dyn Contestant> {
        self.make(serde::Deserialize::deserialize(&body["tools"]).expect("tools"))
    }
}

/// The futures of the tool parsers wait for nothing.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a parser that waits"),
    }
}

impl Smg {
    fn normal(&mut self, text: &str, answer: &mut Answer) {
        if text.is_empty() {
            return;
        }
        match ready(self.calls.parse_incremental(text, &self.tools)) {
            Ok(result) => {
                answer.content.push_str(&result.normal_text);
                for call in result.calls {
                    item(&call, answer);
                }
            }
            Err(_) => answer.failed = true,
        }
    }
}

fn item(call: &tool_parser::types::ToolCallItem, answer: &mut Answer) {
    if let Some(name) = &call.name {
        answer.name(call.tool_index, name);
    }
    answer.arguments(call.tool_index, &call.parameters);
}

impl Contestant for Smg {
    fn push(&mut self, delta: Delta<'_>, answer: &mut Answer) {
        let piece = delta.text.unwrap_or_default();
        match self.reasoning.parse_reasoning_streaming_incremental(piece) {
            Ok(result) => {
                answer.reasoning.push_str(&result.reasoning_text);
                self.normal(&result.normal_text, answer);
            }
            Err(_) => answer.failed = true,
        }
    }

    fn finish(&mut self, answer: &mut Answer) {
        if let Ok(rest) = self.reasoning.flush() {
            answer.reasoning.push_str(&rest.reasoning_text);
            self.normal(&rest.normal_text, answer);
        }
        for call in self.calls.get_unstreamed_tool_args().unwrap_or_default() {
            item(&call, answer);
        }
        answer.content.push_str(&self.calls.take_unstreamed_normal_text());
    }

    fn whole(&mut self, text: &str, answer: &mut Answer) {
        let Ok(parts) = self.reasoning.detect_and_parse_reasoning(text) else {
            answer.failed = true;
            return;
        };
        answer.reasoning.push_str(&parts.reasoning_text);
        match ready(self.calls.parse_complete_with_tools(&parts.normal_text, &self.tools)) {
            Ok((content, calls)) => {
                answer.content.push_str(&content);
                for (index, call) in calls.iter().enumerate() {
                    answer.name(index, &call.function.name);
                    answer.arguments(index, &call.function.arguments);
                }
            }
            Err(_) => answer.failed = true,
        }
    }
}

/// dynamo: one parser for all three.
struct Dynamo {
    parser: Box<dyn UnifiedParser>,
    output: UnifiedParserOutput,
}

struct DynamoMaker {
    family: &'static str,
    opened: bool,
    tools: Vec<dynamo::Tool>,
}

pub(crate) fn dynamo(names: &Names, sample: &str, tools: &Value) -> Option<Box<dyn Maker>> {
    let maker = DynamoMaker { family: names.dynamo?, opened: opened_by_prompt(sample), tools: dynamo_tools(tools) };
    // Its harmony parser downloads a vocabulary first; where that cannot be had, its cells stay empty.
    if let Err(fault) = maker.start(&maker.tools) {
        eprintln!("dynamo's `{}` does not start: {fault}", maker.family);
        return None;
    }
    Some(Box::new(maker))
}

fn dynamo_tools(tools: &Value) -> Vec<dynamo::Tool> {
    let tool = |tool: &Value| {
        let function = &tool["function"];
        dynamo::Tool {
            name: function["name"].as_str().unwrap_or_default().into(),
            description: function["description"].as_str().map(Into::into),
            parameters: function["parameters"].clone(),
            strict: None,
        }
    };
    tools.as_array().into_iter().flatten().map(tool).collect()
}

impl DynamoMaker {
    fn start(&self, tools: &[dynamo::Tool]) -> Result<Box<dyn UnifiedParser>, String> {
        let mut parser = dynamo::create_unified_parser_for_family(self.family, tools).map_err(|e| e.to_string())?;
        let mut init = UnifiedParserInit::native(&[]);
        if self.opened {
            init.starting_state = UnifiedParserStartingState::Reasoning;
        }
        parser.initialize_request(init).map_err(|e| e.to_string())?;
        Ok(parser)
    }

    fn make(&self, tools: &[dynamo::Tool]) -> Box<dyn Contestant> {
        let parser = self.start(tools).expect("a parser that has started before");
        Box::new(Dynamo { parser, output: UnifiedParserOutput::default() })
    }
}

impl Maker for DynamoMaker {
    fn parser(&self) -> Box<dyn Contestant> {
        self.make(&self.tools)
    }

    fn request(&self, body: &Value) -> Box<dyn Contestant> {
        self.make(&dynamo_tools(&body["tools"]))
    }
}

impl Dynamo {
    fn drain(&mut self, answer: &mut Answer) {
        for event in self.output.events.drain(..) {
            match event {
                UnifiedParserEvent::Text(text) => answer.content.push_str(&text),
                UnifiedParserEvent::Reasoning(text) => answer.reasoning.push_str(&text),
                UnifiedParserEvent::ToolCall(call) => {
                    if let Some(name) = &call.name {
                        answer.name(call.tool_index, name);
                    }
                    answer.arguments(call.tool_index, &call.arguments);
                }
                _ => {}
            }
        }
    }
}

impl Contestant for Dynamo {
    fn push(&mut self, delta: Delta<'_>, answer: &mut Answer) {
        let piece = delta.text.unwrap_or_default();
        answer.failed |= self.parser.parse_into(piece, &mut self.output).is_err();
        self.drain(answer);
    }

    fn finish(&mut self, answer: &mut Answer) {
        match self.parser.finish() {
            Ok(output) => self.output = output,
            Err(_) => answer.failed = true,
        }
        self.drain(answer);
    }
}
