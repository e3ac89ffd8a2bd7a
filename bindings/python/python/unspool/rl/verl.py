"""unspool's formats as tool parsers of verl (0.9).

Importing this module registers every tool-call format as ``unspool_<name>``, for ``multi_turn.format``. Reasoning then
stays in the content, as with verl's own parsers, and calls inside it count. :func:`register` adds a parser that also
separates the reasoning::

    import unspool.rl.verl
    unspool.rl.verl.register("qwen3_hermes", reasoning="qwen3", tools="hermes")
"""

from __future__ import annotations

from typing import Any

from verl.experimental.agent_loop.tool_parser import FunctionCall, ToolParser

from .. import _serving, formats

PREFIX = "unspool_"


class UnspoolToolParser(ToolParser):
    """A pair of formats. The content excludes calls, and reasoning if the pair parses it."""

    unspool_reasoning: str | None = None
    unspool_tools: str

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(tokenizer)
        self.pair = _serving.pair(self.unspool_reasoning, self.unspool_tools, tokenizer)

    async def extract_tool_calls(
        self, responses_ids: list[int], tools: list[Any] | None = None
    ) -> tuple[str, list[FunctionCall]]:
        """The content, and the calls whose arguments are complete."""
        given = [tool if isinstance(tool, dict) else tool.model_dump(exclude_none=True) for tool in tools or ()]
        request = {"tools": given, "calls_wanted": True}
        if self.pair.vocabulary is not None and self.pair.vocabulary.has_bytes:
            message = self.pair.parse_ids(list(responses_ids), request=request)
        else:
            message = self.pair.parse(self.tokenizer.decode(responses_ids, skip_special_tokens=False), request=request)
        calls = [
            FunctionCall(name=call.name, arguments=call.arguments, tool_call_id=call.id)
            for call in message.tool_calls
            if call.complete
        ]
        return message.content, calls


def register(name: str, *, tools: str, reasoning: str | None = None) -> type[UnspoolToolParser]:
    """Registers a pair of formats with verl under this name."""
    fields = {"unspool_tools": tools, "unspool_reasoning": reasoning, "__module__": __name__}
    made = type(f"Unspool_{name}", (UnspoolToolParser,), fields)
    ToolParser.register(name)(made)
    return made


for _half, _name, _ in formats():
    if _half == "tools":
        register(PREFIX + _name, tools=_name)
