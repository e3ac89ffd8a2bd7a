//! How fast each syntax is, in nanoseconds a token of about four bytes: `cargo run --release --example speed`.

#![allow(clippy::print_stdout, missing_docs, reason = "an example prints its table")]

use std::hint::black_box;
use std::time::Instant;

use unspool::{Delta, Event, Message, Prompt, Registry, Request, Setup, ToolCall};

fn tools() -> serde_json::Value {
    serde_json::json!({"tools": [{"type": "function", "function": {"name": "save", "parameters": {"type": "object",
        "properties": {"text": {"type": "string"}, "n": {"type": "integer"}}}}}]})
}

fn turn(tokens: usize) -> Message {
    let words = "the keel lies on its slip and waits for spring tide; ";
    let third = tokens * 4 / 3;
    let prose = words.repeat(third / words.len() + 1);
    let call = |n: usize| ToolCall {
        name: "save".into(),
        arguments: serde_json::json!({"text": words.repeat(third / 2 / words.len() + 1).trim(), "n": n}).to_string(),
        complete: true,
        ..ToolCall::default()
    };
    Message {
        reasoning: prose.trim().into(),
        content: prose.trim().into(),
        tool_calls: vec![call(1), call(2)],
        ..Message::default()
    }
}

fn pieces(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut n = 4.min(rest.len());
        while !rest.is_char_boundary(n) {
            n += 1;
        }
        out.push(&rest[..n]);
        rest = &rest[n..];
    }
    out
}

fn main() {
    let request = Request::from_openai(&tools()).expect("a good request");
    println!("{:<16}{:>10}{:>10}{:>10}{:>10}{:>12}{:>10}", "tools", "1k", "4k", "16k", "64k", "whole MB/s", "new ns");
    for (reasoning, tool) in [
        ("qwen3", "hermes"),
        ("qwen3", "qwen3_coder"),
        ("deepseek_r1", "deepseek_v3"),
        ("kimi_k2", "kimi_k2"),
        ("glm45", "glm45"),
        ("deepseek_v4", "deepseek_v4"),
        ("minimax_m2", "minimax_m2"),
        ("qwen3", "llama3_json"),
        ("gemma4", "gemma4"),
        ("olmo3", "olmo3"),
        ("minimax_m3", "minimax_m3"),
        ("openai_gptoss", "openai"),
    ] {
        let setup =
            Setup { reasoning_parser: Some(reasoning.into()), tool_parser: Some(tool.into()), ..Setup::default() };
        let pair = Registry::builtin().pair(&setup).expect("a pair");
        print!("{tool:<16}");
        let mut last = String::new();
        for tokens in [1_000, 4_000, 16_000, 64_000] {
            let text = match pair.render(&turn(tokens), &request) {
                Ok(text) => text,
                Err(error) => panic!("{tool}: {error}"),
            };
            let pieces = pieces(&text);
            let mut best = f64::MAX;
            for _ in 0..(200_000 / tokens).max(3) {
                let mut parser = pair.parser(&request, Prompt::Unknown).expect("a parser");
                let mut bytes = 0;
                let mut sink = |event: Event<'_>| match event {
                    Event::Reasoning(t) | Event::Content(t) => bytes += t.len(),
                    Event::CallArguments { json, .. } => bytes += json.len(),
                    _ => {}
                };
                let start = Instant::now();
                for piece in &pieces {
                    parser.push(Delta::text(piece), &mut sink);
                }
                parser.finish(None, &mut sink);
                best = best.min(start.elapsed().as_nanos() as f64 / pieces.len() as f64);
                black_box(bytes);
            }
            print!("{best:>10.1}");
            last = text;
        }
        let mut best = f64::MAX;
        for _ in 0..10 {
            let mut parser = pair.parser(&request, Prompt::Unknown).expect("a parser");
            let mut bytes = 0;
            let mut sink = |event: Event<'_>| {
                if let Event::Content(t) = event {
                    bytes += t.len();
                }
            };
            let start = Instant::now();
            parser.push(Delta::text(&last), &mut sink);
            parser.finish(None, &mut sink);
            best = best.min(start.elapsed().as_secs_f64());
            black_box(bytes);
        }
        let start = Instant::now();
        for _ in 0..10_000 {
            black_box(pair.parser(&request, Prompt::Unknown).expect("a parser"));
        }
        println!("{:>12.0}{:>10}", last.len() as f64 / best / 1e6, start.elapsed().as_nanos() / 10_000);
    }
}
