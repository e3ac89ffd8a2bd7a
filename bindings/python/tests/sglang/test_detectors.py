"""The corpus through SGLang's own `FunctionCallParser` and `ReasoningParser`."""

from __future__ import annotations

import sys
from pathlib import Path
from collections.abc import Iterable
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


#: What comes out here depends on whether the output was cut off, which SGLang does not tell its parsers.
UNTOLD = {"hermes/closer-inside-a-key"}


def plain(case: Case) -> bool:
    """SGLang's parsers see no request: only what the fields of every request say can be right."""
    usual = {"tool_choice": "auto", "include_reasoning": True, "parallel_tool_calls": True}
    request = {key: value for key, value in (case.fields.get("request") or {}).items() if value not in (None, usual.get(key))}
    settings = case.fields.get("model_type") or case.fields.get("tokenizer_config") or case.fields.get("incomplete_calls")
    return not request and not settings and not case.expect.get("error") and case.id not in UNTOLD


def start_of(case: Case) -> bool | None:
    """`force_reasoning` as SGLang's server finds it from the prompt: True if it opens a thought, None if the output may open one.

    Where the prompt has ended the thought, the server asks no reasoning parser.
    """
    prompt = case.prompt_tokens or case.fields.get("prompt_tail")
    parser = case.pair(with_bytes=False).parser(prompt=prompt)
    return True if prompt and parser.is_thinking else None


def ended(case: Case) -> bool:
    prompt = case.prompt_tokens or case.fields.get("prompt_tail")
    return case.pair(with_bytes=False).parser(prompt=prompt).reasoning_ended


PLAIN = [case for case in CASES if plain(case)]
TOOL_CASES = [case for case in PLAIN if case.tools_parser and not case.reasoning and case.fields.get("tools") and not case.expect.get("reasoning")]
REASONING_CASES = [case for case in PLAIN if case.reasoning and not case.tools_parser and not ended(case)]
#: What only one pair for both halves can know: that no call follows an opener in a thought; that the prompt left a header open.
APART = {"qwen3_coder/marker-named-in-reasoning", "inkling/history-header-text"}
#: Both parsers, one behind the other.
CHAINS = [case for case in PLAIN if case.id not in APART and case.reasoning and case.tools_parser and case.fields.get("tools") and not ended(case)]
assert len(TOOL_CASES) > 400 and len(REASONING_CASES) > 100 and len(CHAINS) > 100, (len(TOOL_CASES), len(REASONING_CASES), len(CHAINS))


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
    # SGLang's parsers give calls no ids; its server does.
    found = [one for one in found if ": id is ''" not in one]
    assert not found, f"{found}\n{case.fields.get('note')}"


def whole_calls(case: Case, text: str, tokenizer: Tokenizer) -> Answer:
    tools = tools_of(case)
    parser = FunctionCallParser(tools, plugin.PREFIX + str(case.tools_parser), tokenizer=tokenizer)
    text, calls = parser.parse_non_stream(text)
    names = [tool.function.name for tool in tools]
    for call in calls:
        assert call.tool_index == (names.index(call.name) if call.name in names else -1)
    return Answer("", text, [("", call.name, call.parameters) for call in calls])


def streamed_calls(case: Case, pieces: Iterable[str], tokenizer: Tokenizer) -> Answer:
    parser = FunctionCallParser(tools_of(case), plugin.PREFIX + str(case.tools_parser), tokenizer=tokenizer)
    results = [parser.parse_stream_chunk(piece) for piece in pieces]
    results.append(parser.parse_stream_end())
    streamed: list[list[str]] = []
    for _, calls in results:
        for call in calls:
            if call.name:
                assert call.tool_index == len(streamed)
                streamed.append(["", call.name, ""])
            streamed[call.tool_index][2] += call.parameters
    return Answer("", "".join(text for text, _ in results), [(id, name, arguments) for id, name, arguments in streamed])


def thinker(case: Case, tokenizer: Tokenizer, **options: Any) -> ReasoningParser:
    return ReasoningParser(plugin.PREFIX + str(case.reasoning), force_reasoning=start_of(case), tokenizer=tokenizer, **options)


@pytest.mark.parametrize("case", TOOL_CASES, ids=lambda case: case.id)
def test_calls(case: Case) -> None:
    tokenizer = Tokenizer(case)
    check(case, whole_calls(case, case.output, tokenizer))
    check(case, streamed_calls(case, case.output, tokenizer))


@pytest.mark.parametrize("case", REASONING_CASES, ids=lambda case: case.id)
def test_reasoning(case: Case) -> None:
    tokenizer = Tokenizer(case)
    reasoning, text = thinker(case, tokenizer).parse_non_stream(case.output)
    check(case, Answer(reasoning or "", text or "", []))
    for stream_reasoning in (True, False):
        parser = thinker(case, tokenizer, stream_reasoning=stream_reasoning)
        results = [parser.parse_stream_chunk(character) for character in case.output]
        results.append(parser.parse_stream_end())
        check(case, Answer("".join(r or "" for r, _ in results), "".join(t or "" for _, t in results), []))


@pytest.mark.parametrize("case", CHAINS, ids=lambda case: case.id)
def test_both(case: Case) -> None:
    tokenizer = Tokenizer(case)
    reasoning, text = thinker(case, tokenizer, tool_call_parser_active=True).parse_non_stream(case.output)
    answer = whole_calls(case, text or "", tokenizer)
    check(case, Answer(reasoning or "", answer.content, answer.calls))

    parser = thinker(case, tokenizer, tool_call_parser_active=True)
    results = [parser.parse_stream_chunk(character) for character in case.output]
    results.append(parser.parse_stream_end())
    answer = streamed_calls(case, [text for _, text in results if text], tokenizer)
    check(case, Answer("".join(r or "" for r, _ in results), answer.content, answer.calls))


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
