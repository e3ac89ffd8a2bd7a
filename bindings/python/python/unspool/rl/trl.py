"""A pair of formats as ``tokenizer.parse_response``, which TRL (1.16) calls for each completion::

    unspool.rl.trl.attach(tokenizer, reasoning="qwen3", tools="hermes")
    trainer = GRPOTrainer(..., processing_class=tokenizer, tools=[...])
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from .. import Message, Pair, _serving

#: TRL calls ``parse_response`` only on tokenizers that have a template for it.
TEMPLATE = {"version": 1, "fields": {"content": {}}}


class ParseResponse:
    """The replacement of ``tokenizer.parse_response``. It can be pickled."""

    def __init__(self, pair: Pair, tokenizer: Any, thought: str) -> None:
        self.pair = pair
        self.tokenizer = tokenizer
        self.thought = thought

    def __call__(
        self,
        response: Any,
        *_: Any,
        prefix: Any = None,
        tools: Sequence[dict[str, Any] | Callable[..., Any]] | None = None,
        **__: Any,
    ) -> dict[str, Any]:
        """The message of a completion, text or ids, after the prompt ``prefix``.

        Raises ``ValueError`` for a call that is cut off or has invalid JSON: TRL then treats the completion as text.
        """
        request = {"tools": [_schema(tool) for tool in tools or ()], "calls_wanted": True}
        prompt = prefix if isinstance(prefix, str) or prefix is None else list(prefix)
        if isinstance(response, str):
            message = self.pair.parse(response, request=request, prompt=prompt)
        else:
            message = self.pair.parse_ids(list(response), request=request, prompt=prompt)
        return self._message(message)

    def _message(self, message: Message) -> dict[str, Any]:
        said: dict[str, Any] = {"role": "assistant", "content": message.content}
        if message.reasoning:
            said[self.thought] = message.reasoning
        if message.tool_calls:
            said["tool_calls"] = [_call(call.name, call.arguments) for call in message.tool_calls]
        return said


def _call(name: str, arguments: str) -> dict[str, Any]:
    read = json.loads(arguments)
    if not isinstance(read, dict):
        raise ValueError(f"the arguments of `{name}` are no JSON object")
    return {"type": "function", "function": {"name": name, "arguments": read}}


def _schema(tool: dict[str, Any] | Callable[..., Any]) -> dict[str, Any]:
    if isinstance(tool, dict):
        return tool
    from transformers.utils import get_json_schema

    schema: dict[str, Any] = get_json_schema(tool)
    return schema


def attach(tokenizer: Any, *, tools: str | None, reasoning: str | None = None, thought: str = "reasoning_content") -> ParseResponse:
    """Makes a fast tokenizer of ``transformers`` parse responses with a pair of formats. ``thought`` is the reasoning's key.

    Only this object changes. ``save_pretrained`` writes the same files as before, plus a ``response_template`` if there was
    none.
    """
    pair = _serving.pair(reasoning, tools, tokenizer)
    parse = ParseResponse(pair, tokenizer, thought)
    if getattr(tokenizer, "response_template", None) is None:
        tokenizer.response_template = TEMPLATE
    tokenizer.parse_response = parse
    return parse
