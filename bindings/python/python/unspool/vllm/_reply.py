"""One reply: unspool's events as vLLM's deltas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vllm.entrypoints.generate.base.protocol import (
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
)

from .. import Event, Parser


class Calls:
    """The four fields that vLLM's contract requires on a tool parser, and their sources.

    The texts are joined on access, because appending on every token would copy the text so far each time.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.pieces: list[list[str]] = []
        self.open = False

    def arguments(self) -> list[str]:
        for pieces in self.pieces:
            if len(pieces) > 1:
                pieces[:] = ["".join(pieces)]
        return [pieces[0] if pieces else "" for pieces in self.pieces]


class Reply:
    """A parser that takes and returns vLLM's deltas."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser
        self.calls = Calls()
        self.tokens = 0
        self.finished = False

    def push(self, text: str, ids: Sequence[int]) -> DeltaMessage | None:
        self.tokens += len(ids)
        if not ids:
            return self.delta(self.parser.push(text)) if text else None
        return self.delta(self.parser.push(text, ids if isinstance(ids, list) else list(ids)))

    def finish(self) -> DeltaMessage | None:
        if self.finished:
            return None
        self.finished = True
        return self.delta(self.parser.finish().events)

    def delta(self, events: list[Event]) -> DeltaMessage | None:
        """The events of one delta; None if there is nothing to send."""
        if len(events) == 1:
            event = events[0]
            if event.kind == "content":
                return DeltaMessage(content=event.text)
            if event.kind == "reasoning":
                return DeltaMessage(reasoning=event.text)
        reasoning: list[str] = []
        content: list[str] = []
        started: dict[int, dict[str, Any]] = {}
        for event in events:
            kind = event.kind
            if kind == "reasoning":
                reasoning.append(event.text or "")
            elif kind == "content":
                content.append(event.text or "")
            elif kind != "diagnostic":
                self._call(event, started)
        if not (reasoning or content or started):
            return None
        fields: dict[str, Any] = {}
        if reasoning:
            fields["reasoning"] = "".join(reasoning)
        if content:
            fields["content"] = "".join(content)
        if started:
            fields["tool_calls"] = [_tool_call(index, call) for index, call in started.items()]
        return DeltaMessage(**fields)

    def _call(self, event: Event, started: dict[int, dict[str, Any]]) -> None:
        index = event.index or 0
        if event.kind == "call_start":
            name = event.name or ""
            self.calls.names.append(name)
            self.calls.pieces.append([])
            self.calls.open = True
            started[index] = {"id": event.id or "", "name": name, "pieces": []}
        elif event.kind == "call_arguments":
            self.calls.pieces[index].append(event.text or "")
            started.setdefault(index, {"pieces": []})["pieces"].append(event.text or "")
        else:
            self.calls.open = False


def _tool_call(index: int, call: dict[str, Any]) -> DeltaToolCall:
    function: dict[str, Any] = {}
    if "name" in call:
        function["name"] = call["name"]
    if call["pieces"] or "name" in call:
        function["arguments"] = "".join(call["pieces"])
    fields: dict[str, Any] = {"index": index, "function": DeltaFunctionCall(**function)}
    if "id" in call:
        fields |= {"id": call["id"], "type": "function"}
    return DeltaToolCall(**fields)


def joined(first: DeltaMessage | None, second: DeltaMessage | None) -> DeltaMessage | None:
    """Merges two deltas."""
    if first is None or second is None:
        return first or second
    if second.reasoning:
        first.reasoning = (first.reasoning or "") + second.reasoning
    if second.content:
        first.content = (first.content or "") + second.content
    if second.tool_calls:
        known = {call.index: call for call in first.tool_calls or []}
        calls = list(first.tool_calls or [])
        for call in second.tool_calls:
            same = known.get(call.index)
            if same is None or call.id is not None or same.function is None or call.function is None:
                calls.append(call)
            else:
                same.function.arguments = (same.function.arguments or "") + (call.function.arguments or "")
        first.tool_calls = calls
    return first
