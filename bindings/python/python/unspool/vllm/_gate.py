"""vLLM's questions about ids: is reasoning over, where did it end, how many ids has it?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .. import Gate, Pair


class Questions:
    """Answers about the ids of one reply, for the serving process and the one that applies the grammar.

    The gate advances with accepted ids. Drafts of speculative decoding are checked on a copy, so that a query never changes
    an answer.
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
        """Whether reasoning is over after these ids, a prompt or a prompt with output."""
        return self.pair.is_reasoning_end(list(ids), request=self.request)

    def is_end_streaming(self, ids: Sequence[int], delta: Iterable[int]) -> bool:
        """Whether reasoning is over after `ids`, which end with `delta`."""
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

    def content_ids(self, ids: Sequence[int]) -> list[int]:
        """The ids after the end of reasoning; all of them if no reasoning is expected."""
        return self.pair.content_ids(list(ids), request=self.request)

    def count(self, ids: Sequence[int]) -> int:
        """Number of reasoning ids in an output."""
        return self.pair.count_reasoning_tokens(list(ids), prompt=self.prompt, request=self.request)
