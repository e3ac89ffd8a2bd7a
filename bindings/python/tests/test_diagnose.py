"""`unspool.diagnose`: the same engine and the same JSON as `unspool diagnose --json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import unspool

TOOLS = [{"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}]
CALL = '<tool_call>\n{"name": "tide", "arguments": {}}\n</tool_call>'
SUBJECTS = ["flags", "names", "template", "pair", "streaming", "finish_reason", "raw_text", "special_tokens", "code_points"]


def verdict(output: Any, **options: Any) -> unspool._diagnosis.Verdict:
    said = unspool.diagnose(output, **options)
    json.dumps(said)
    assert [check["check"] for check in said["checks"]] == SUBJECTS
    return said["verdict"]


def test_another_parser_is_named_with_its_flags() -> None:
    said = unspool.diagnose(CALL, tool_calls="mistral", tools=TOOLS)
    assert said["input"] == {"kind": "raw", "outputs": 1}
    assert said["verdict"]["kind"] == "wrong_parser"
    assert said["ranking"][0]["valid_calls"] == 1 and said["ranking"][0]["rank"] == 1
    assert "hermes" in " ".join(said["verdict"]["flags"])
    right = unspool.Pair(tools="hermes").parse(CALL, tools=TOOLS)
    assert len(right.tool_calls) == said["ranking"][0]["calls"]


def test_bodies_come_as_dicts_or_text() -> None:
    body = {"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": CALL}}]}
    for given in (body, json.dumps(body), "\ufeff" + json.dumps(body)):
        said = unspool.diagnose(given, tools=TOOLS, tool_calls="mistral")
        assert said["input"]["kind"] == "chat_completion" and said["verdict"]["kind"] == "wrong_parser"
        raw = next(check for check in said["checks"] if check["check"] == "raw_text")
        assert raw["result"] == "fail" and raw["evidence"]


def test_the_checkpoint_and_the_server_are_looked_at() -> None:
    template = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}[TOOL_CALLS]{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}"
    wrong = verdict("Noon.", tool_calls="hermes", tools=TOOLS, template=template)
    assert wrong["kind"] == "wrong_template", wrong
    vocabulary = unspool.Vocabulary({"<tool_call>": 1}, template=template)
    assert verdict("Noon.", tool_calls="hermes", tools=TOOLS, checkpoint=vocabulary)["kind"] == "wrong_template"
    served = unspool.diagnose(CALL, tools=TOOLS, serve_args="vllm serve m --tool-call-parser mistral")
    flags = next(check for check in served["checks"] if check["check"] == "flags")
    assert flags["result"] == "fail", flags


def test_a_format_of_your_own_is_ranked(tmp_path: Path) -> None:
    own = tmp_path / "heron.toml"
    own.write_text('names.tools = ["heron"]\nnote = "Mine."\n[tools]\ncall = "<heron>{envelope}</heron>"\n')
    unspool.add_formats(own)
    said = unspool.diagnose('<heron>{"name": "tide", "arguments": {}}</heron>', tools=TOOLS)
    assert said["ranking"][0]["tool_call_parser"] == "heron"


def test_what_cannot_be_looked_at_is_an_error() -> None:
    for given, place in (("", "output"), ({"error": {"message": "no such model"}}, "output")):
        with pytest.raises(unspool.Error) as caught:
            unspool.diagnose(given)
        assert (caught.value.kind, caught.value.place) == ("argument", place) and caught.value.hint
    with pytest.raises(unspool.Error):
        unspool.diagnose(CALL, template="{% for %}")
