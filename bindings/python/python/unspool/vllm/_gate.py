"""vLLM's questions about ids: is reasoning over, where did it end, how many ids has it?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .. import Gate, Pair


class Ends:
    """The single ids that end reasoning. An explicit end (`</think>`) is no content; an implicit one (the opener of a call) is."""

    def __init__(self, pair: Pair) -> None:
        self.explicit: set[int] = set()
        self.implicit: set[int] = set()
        vocabulary = pair.vocabulary
        markers = pair.reasoning_markers
        if vocabulary is None or markers is None:
            return
        thinking = pair.gate(prompt=markers[0])
        if thinking.ended:
            return
        for id in vocabulary.special.values():
            gate = thinking.copy()
            start, constraint = gate.advance([id])
            if constraint == 1:
                (self.explicit if start == 1 else self.implicit).add(id)

    @property
    def all(self) -> frozenset[int]:
        return frozenset(self.explicit | self.implicit)


class Questions:
    """Answers about the ids of one reply, for the serving process and for the one that applies the grammar.

    The gate goes forward with the ids that are certain. Drafts of speculative decoding are asked about on a copy, so that asking does
    not change any answer.
    """

    def __init__(self, pair: Pair, request: dict[str, Any]) -> None:
        self.pair = pair
        self.request = {key: value for key, value in request.items() if key != "tools"}
        self.prompt: list[int] | None = None
        self._gate: Gate | None = None
        self._at = 0
        self._drafts: tuple[int, list[int], Gate] | None = None

    def set_prompt(self, ids: Sequence[int]) -> None:
        """The prompt, as soon as it is known."""
        self.prompt = list(ids)
        self._gate = None

    def new_gate(self) -> Gate:
        return self.pair.gate(request=self.request, prompt=self.prompt)

    def is_end(self, ids: Sequence[int]) -> bool:
        """Whether reasoning is over behind these ids, a prompt or a prompt with output."""
        return self.pair.gate(request=self.request, prompt=list(ids)).ended

    def is_end_streaming(self, ids: Sequence[int], delta: Iterable[int]) -> bool:
        """Whether reasoning is over behind `ids`, whose last ones are `delta`."""
        delta = list(delta)
        before = len(ids) - len(delta)
        if self._gate is None or before < self._at:
            if self.prompt is None or len(self.prompt) > before:
                self.set_prompt(ids[:before])
            self._gate = self.new_gate()
            self._at = len(self.prompt or ())
        if self._drafts is not None and self._drafts[0] == self._at:
            size = len(self._drafts[1])
            if before >= self._at + size and list(ids[self._at : self._at + size]) == self._drafts[1]:
                self._gate = self._drafts[2]
                self._at += size
        if before > self._at:
            self._gate.advance(list(ids[self._at : before]))
            self._at = before
        gate = self._gate.copy()
        gate.advance(delta)
        self._drafts = (self._at, delta, gate)
        return gate.ended

    def content_ids(self, ids: Sequence[int], ends: Ends) -> list[int]:
        """The ids behind the end of reasoning; all of them where nothing is waited for."""
        ids = list(ids)
        for offset, id in enumerate(ids):
            if id in ends.explicit:
                return ids[offset + 1 :]
            if id in ends.implicit:
                return ids[offset:]
        gate = self.pair.gate(request=self.request)
        gate.advance(ids)
        end = gate.reasoning_end
        return [] if end is None else ids[end[0] :]

    def count(self, ids: Sequence[int]) -> int:
        """How many of an output's ids are reasoning."""
        parser = self.pair.parser(request=self.request, prompt=self.prompt)
        if self.pair.vocabulary is None or not self.pair.vocabulary.has_bytes:
            gate = self.new_gate()
            gate.advance(list(ids))
            return gate.reasoning_tokens
        parser.push(ids=list(ids))
        return parser.finish().message.reasoning_tokens or 0
