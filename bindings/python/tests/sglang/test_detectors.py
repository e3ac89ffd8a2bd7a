"""The corpus through SGLang's own `FunctionCallParser` and `ReasoningParser`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

pytest.importorskip("sglang", reason="SGLang is NOT TESTED: it is not in this environment (bindings/python/test --sglang)")

from cases import CASES, Answer, Case  # noqa: E402

import unspool  # noqa: E402
import unspool.sglang as plugin  # noqa: E402
from unspool import _serving  # noqa: E402
from sglang.srt.entrypoints.openai.protocol import Tool  # noqa: E402
from sglang.srt.function_call.function_call_parser import FunctionCallParser  # noqa: E402
from sglang.srt.parser.reasoning_parser import ReasoningParser  # noqa: E402

plugin.register()


def plain(case: Case) -> bool:
    """SGLang's parsers see no request: only what the fields of every request say can be right."""
    usual = {"tool_choice": "auto", "include_reasoning": True, "parallel_tool_calls": True}
    request = {key: value for key, value in (case.fields.get("request") or {}).items() if value not in (None, usual.get(key))}
    settings = case.fields.get("model_type") or case.fields.get("tokenizer_config") or case.fields.get("incomplete_calls")
    return not request and not settings and not case.expect.get("error")


TOOL_CASES = [case for case in CASES if plain(case) and case.tools_parser and not case.reasoning and case.fields.get("tools")]
REASONING_CASES = [
    case for case in CASES if plain(case) and case.reasoning and not case.tools_parser and not case.fields.get("prompt_tail") and not case.prompt_tokens
]


class Tokenizer:
    """What of a tokenizer tells special tokens."""

    def __init__(self, case: Case) -> None:
        _serving._vocabularies[id(self)] = unspool.Vocabulary(case.special, case.hidden)

    def __del__(self) -> None:
        _serving._forget(id(self))


def tools_of(case: Case) -> list[Tool]:
    return [Tool(**tool) for tool in case.fields["tools"]]


def check(case: Case, answer: Answer) -> None:
    found = case.differences(answer, with_ids=False)
    assert not found, f"{found}\n{case.fields.get('note')}"


@pytest.mark.parametrize("case", TOOL_CASES, ids=lambda case: case.id)
def test_calls(case: Case) -> None:
    tools = tools_of(case)
    name = plugin.PREFIX + str(case.tools_parser)
    tokenizer = Tokenizer(case)
    text, calls = FunctionCallParser(tools, name, tokenizer=tokenizer).parse_non_stream(case.output)
    names = [tool.function.name for tool in tools]
    for call in calls:
        assert call.tool_index == (names.index(call.name) if call.name in names else -1)
    check(case, Answer("", text, [("", call.name, call.parameters) for call in calls]))

    parser = FunctionCallParser(tools, name, tokenizer=tokenizer)
    results = [parser.parse_stream_chunk(character) for character in case.output]
    results.append(parser.parse_stream_end())
    streamed: list[list[str]] = []
    for _, pieces in results:
        for piece in pieces:
            if piece.name:
                assert piece.tool_index == len(streamed)
                streamed.append(["", piece.name, ""])
            streamed[piece.tool_index][2] += piece.parameters
    content = "".join(text for text, _ in results)
    check(case, Answer("", content, [(id, name, arguments) for id, name, arguments in streamed]))


@pytest.mark.parametrize("case", REASONING_CASES, ids=lambda case: case.id)
def test_reasoning(case: Case) -> None:
    name = plugin.PREFIX + str(case.reasoning)
    tokenizer = Tokenizer(case)
    reasoning, text = ReasoningParser(name, tokenizer=tokenizer).parse_non_stream(case.output)
    check(case, Answer(reasoning or "", text or "", []))
    for stream_reasoning in (True, False):
        parser = ReasoningParser(name, stream_reasoning=stream_reasoning, tokenizer=tokenizer)
        results = [parser.parse_stream_chunk(character) for character in case.output]
        results.append(parser.parse_stream_end())
        check(case, Answer("".join(r or "" for r, _ in results), "".join(t or "" for _, t in results), []))


@pytest.mark.parametrize("name", ["hermes", "qwen3_coder", "kimi_k2", "deepseek_v31", "glm47", "pythonic"])
def test_grammars(name: str) -> None:
    parameters: dict[str, Any] = {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}
    tool = Tool(type="function", function={"name": "tide", "parameters": parameters})
    parser = FunctionCallParser([tool], plugin.PREFIX + name)
    assert parser.owns_tool_format()
    kind, tag = parser.get_structure_constraint("required")
    assert kind == "structural_tag" and "tide" in tag.model_dump_json()
    if name == "hermes":
        info = parser.detector.structure_info()("tide")
        assert info.begin.startswith(info.trigger) and "tide" in info.begin and "</tool_call>" in info.end
