"""Replies as messages of the real inspect_ai."""

from __future__ import annotations

import asyncio
from typing import Any

from inspect_ai.model import ChatMessageUser, ContentReasoning, ContentText, execute_tools
from inspect_ai.tool import ToolInfo, ToolParams, tool
from inspect_ai.util import JSONSchema

import unspool
from unspool.inspect import assistant_message, model_output, parse

TIDE = ToolInfo(
    name="tide",
    description="The next tide.",
    parameters=ToolParams(properties={"port": JSONSchema(type="string")}, required=["port"]),
)
PAIR = unspool.Pair("qwen3", "hermes")
CALL = '<tool_call>\n{"name": "tide", "arguments": {"port": "Looe"}}\n</tool_call>'


@tool
def tide() -> Any:
    async def execute(port: str) -> str:
        """The next tide.

        Args:
            port: Where.
        """
        return f"high water at {port}"

    return execute


def test_a_thought_a_text_and_calls() -> None:
    message = parse(PAIR, f"<think>\nHm.\n</think>\n\nI look.\n{CALL}", tools=[TIDE], model="m")
    assert isinstance(message.content, list)
    thought, text = message.content
    assert isinstance(thought, ContentReasoning) and thought.reasoning == "Hm."
    assert isinstance(text, ContentText) and text.text == "I look." and message.text == "I look."
    assert message.tool_calls is not None and message.model == "m"
    (call,) = message.tool_calls
    assert (call.function, call.arguments, call.parse_error) == ("tide", {"port": "Looe"}, None)
    plain = parse(PAIR, "<think>\n</think>\n\nNoon.", tools=[TIDE])
    assert plain.content == "Noon." and plain.tool_calls is None


def test_a_call_that_is_cut_off_has_an_error() -> None:
    message = parse(PAIR, CALL[:45], tools=[TIDE], reason="length")
    assert message.tool_calls is not None
    assert "ended inside the call" in (message.tool_calls[0].parse_error or "")
    said = PAIR.parse(CALL[:45], tools=[{"name": "tide"}], reason="length")
    assert model_output(said, "m").stop_reason == "max_tokens"


def test_inspect_runs_the_call() -> None:
    message = assistant_message(PAIR.parse(CALL, tools=[{"name": "tide"}]))
    results = asyncio.run(execute_tools([ChatMessageUser(content="?"), message], [tide()]))
    assert results.messages[0].text == "high water at Looe"
    cut = assistant_message(PAIR.parse(CALL[:45], tools=[{"name": "tide"}]))
    results = asyncio.run(execute_tools([ChatMessageUser(content="?"), cut], [tide()]))
    assert getattr(results.messages[0], "error").type == "parsing"
