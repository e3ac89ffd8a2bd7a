"""unspool as a plugin of SGLang (0.5.23; Python 3.11 or later).

Installed in the same environment as SGLang, it registers itself (entry point ``sglang.srt.plugins``). Every format is
available as ``unspool_<name>``::

    python -m sglang.launch_server --model MODEL --tool-call-parser unspool_hermes --reasoning-parser unspool_qwen3

SGLang passes only text to its parsers, so markers are recognized by their text. ``UNSPOOL_FORMATS`` adds your own format
files, as for vLLM.
"""

from __future__ import annotations

import os
from typing import Any

from sglang.srt.function_call.base_format_detector import BaseFormatDetector
from sglang.srt.function_call.core_types import (
    StreamingParseResult,
    StructureInfo,
    ToolCallItem,
)
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import BaseReasoningFormatDetector, ReasoningParser
from sglang.srt.parser.reasoning_parser import StreamingParseResult as ReasoningResult

from . import Event, Pair, Parser, _serving, add_formats, formats

PREFIX = "unspool_"

_blind: dict[tuple[str | None, str | None, bool], Pair] = {}


def _pair(reasoning: str | None, tools: str | None, tokenizer: Any, raw_rest: bool = True) -> Pair:
    """The pair of a tokenizer, if SGLang passes one: it knows the special tokens. Another parser's text stays unchanged."""
    if tokenizer is not None:
        return _serving.pair(reasoning, tools, tokenizer, raw_rest=raw_rest)
    key = (reasoning, tools, raw_rest)
    if key not in _blind:
        _blind[key] = Pair(reasoning, tools, raw_rest=raw_rest)
    return _blind[key]


def _tools(tools: Any) -> list[dict[str, Any]]:
    """SGLang's tools as in an OpenAI request."""
    out = []
    for tool in tools or ():
        function = tool.function
        fields = {"name": function.name, "parameters": function.parameters, "strict": bool(function.strict)}
        out.append({"type": "function", "function": fields})
    return out


class UnspoolDetector(BaseFormatDetector):
    """A tool-call format of unspool, created anew for each reply."""

    #: The format's name.
    unspool_name: str

    def __init__(self, tokenizer: Any = None) -> None:
        super().__init__()
        self.pair = _pair(None, self.unspool_name, tokenizer)
        self._parser: Parser | None = None

    def has_tool_call(self, text: str) -> bool:
        # Also true for markup without a call: SGLang then uses the text without it.
        message = self.pair.parse(text, start="content", request={"calls_wanted": True})
        return bool(message.tool_calls) or message.content != text

    def detect_and_parse(self, text: str, tools: Any) -> StreamingParseResult:
        message = self.pair.parse(text, start="content", tools=_tools(tools))
        position = {tool.function.name: index for index, tool in enumerate(tools or ())}
        calls = [
            ToolCallItem(tool_index=position.get(call.name, -1), name=call.name, parameters=call.arguments)
            for call in message.tool_calls
        ]
        return StreamingParseResult(normal_text=message.content, calls=calls)

    def parse_streaming_increment(self, new_text: str, tools: Any) -> StreamingParseResult:
        if self._parser is None:
            self._parser = self.pair.parser(start="content", tools=_tools(tools))
        return self._result(self._parser.push(new_text))

    def finish(self, tools: Any) -> StreamingParseResult:
        if self._parser is None:
            return StreamingParseResult()
        parser, self._parser = self._parser, None
        return self._result(parser.finish().events)

    def _result(self, events: list[Event]) -> StreamingParseResult:
        text: list[str] = []
        calls: list[ToolCallItem] = []
        for event in events:
            if event.kind == "content":
                text.append(event.text or "")
            elif event.kind == "call_start":
                self.current_tool_id = event.index or 0
                self.current_tool_name_sent = True
                self.prev_tool_call_arr.append({"name": event.name, "arguments": ""})
                self.streamed_args_for_tool.append("")
                calls.append(ToolCallItem(tool_index=event.index, name=event.name, parameters=""))
            elif event.kind == "call_arguments":
                last = calls[-1] if calls else None
                if last is not None and last.tool_index == event.index:
                    last.parameters += event.text or ""
                else:
                    calls.append(ToolCallItem(tool_index=event.index, parameters=event.text or ""))
            elif event.kind == "call_end":
                self.current_tool_name_sent = False
        return StreamingParseResult(normal_text="".join(text), calls=calls)

    # Grammars

    def supports_structural_tag(self) -> bool:
        return True

    def get_structural_tag(
        self,
        tools: Any = None,
        tool_choice: Any = "auto",
        thinking_mode: bool = False,
        parallel_tool_calls: bool = True,
    ) -> Any:
        from xgrammar import StructuralTag

        choice = tool_choice
        if not isinstance(choice, str):
            choice = {"type": "function", "function": {"name": tool_choice.function.name}}
        request = {"tools": _tools(tools), "tool_choice": choice, "parallel_tool_calls": parallel_tool_calls}
        grammar = self.pair.grammar(request, strict_level="function", with_thought=thinking_mode)
        return None if grammar is None else StructuralTag.model_validate(grammar.structural_tag())

    def structure_info(self) -> Any:
        def info(name: str) -> StructureInfo:
            tool = {"type": "function", "function": {"name": name}}
            request = {"tools": [tool], "tool_choice": {"type": "function", "function": {"name": name}}}
            grammar = self.pair.grammar(request)
            tag = _around_arguments(grammar.structural_tag()["format"]) if grammar is not None else None
            if tag is None:
                raise ValueError(f"calls of {self.unspool_name} are not one JSON value between two literals")
            begin, end = tag
            return StructureInfo(begin=begin, end=end, trigger=begin[: begin.index(name)] or begin)

        return info


def _literals(node: Any, out: list[str]) -> bool:
    """The literals of a grammar in order, with `_ARGUMENTS` for the arguments; False if it is no plain sequence."""
    kind = node.get("type")
    if kind == "const_string":
        out.append(node["value"])
    elif kind == "json_schema" and node.get("style", "json") == "json":
        out.append(_ARGUMENTS)
    elif kind == "optional":
        inner = node["content"]
        if inner.get("type") == "const_string":
            out.append(inner["value"])
    elif kind == "sequence":
        return all(_literals(element, out) for element in node["elements"])
    else:
        return False
    return True


#: Placeholder for the arguments among literals.
_ARGUMENTS = "\0"


def _around_arguments(format: Any) -> tuple[str, str] | None:
    """The literals around the arguments, if the arguments are one JSON value."""
    literals: list[str] = []
    if not _literals(format, literals) or literals.count(_ARGUMENTS) != 1:
        return None
    begin, end = "".join(literals).split(_ARGUMENTS)
    return begin, end


class UnspoolReasoningDetector(BaseReasoningFormatDetector):
    """A reasoning format of unspool. Normal text is the rest of the output, unchanged."""

    #: The format's name.
    unspool_name: str

    def __init__(
        self,
        stream_reasoning: bool = True,
        force_reasoning: bool = False,
        continue_final_message: bool = False,
        previous_content: str = "",
        force_nonempty_content: bool = False,
        tokenizer: Any = None,
        tool_call_parser_active: bool = False,
    ) -> None:
        self.pair = _pair(self.unspool_name, None, tokenizer, raw_rest=tool_call_parser_active)
        start, end = self.pair.reasoning_markers or ("", "")
        super().__init__(
            start,
            end,
            force_reasoning=force_reasoning,
            stream_reasoning=stream_reasoning,
            continue_final_message=continue_final_message,
            previous_content=previous_content if isinstance(previous_content, str) else "",
            force_nonempty_content=force_nonempty_content,
        )
        self._parser: Parser | None = None
        self._thought: list[str] = []
        self._answered = False

    def _begin(self) -> dict[str, Any]:
        """Where the reply begins, as far as SGLang reveals it."""
        if self.continue_final_message and self.previous_content:
            return {"prompt": str(self.previous_content)}
        return {"start": "reasoning"} if self.force_reasoning else {}

    def _detect_and_parse_impl(self, text: str) -> ReasoningResult:
        message = self.pair.parse(text, **self._begin())
        return ReasoningResult(normal_text=message.content, reasoning_text=message.reasoning)

    def parse_streaming_increment(self, new_text: str) -> ReasoningResult:
        if self._parser is None:
            self._parser = self.pair.parser(**self._begin())
        return self._result(self._parser.push(new_text), ended=False)

    def finish(self) -> ReasoningResult:
        if self._parser is None:
            return ReasoningResult()
        parser, self._parser = self._parser, None
        return self._result(parser.finish().events, ended=True)

    def _result(self, events: list[Event], ended: bool) -> ReasoningResult:
        reasoning = "".join(event.text or "" for event in events if event.kind == "reasoning")
        content = "".join(event.text or "" for event in events if event.kind == "content")
        self._answered |= bool(content)
        if not self.stream_reasoning or self._force_nonempty_content:
            self._thought.append(reasoning)
        if ended and self._force_nonempty_content and not self._answered:
            return ReasoningResult(normal_text="".join(self._thought))
        if not self.stream_reasoning:
            if not (ended or self._answered):
                return ReasoningResult()
            reasoning = "".join(self._thought)
            self._thought.clear()
        return ReasoningResult(normal_text=content, reasoning_text=reasoning)


def register() -> None:
    """Registers all names with SGLang. May be called several times."""
    for path in filter(None, os.environ.get("UNSPOOL_FORMATS", "").split(os.pathsep)):
        add_formats(path)
    for half, name, _ in formats():
        # SGLang looks up reasoning parsers by lower-case name.
        shown = (PREFIX + name).lower()
        fields = {"unspool_name": name, "__module__": __name__}
        if half == "reasoning":
            ReasoningParser.DetectorMap[shown] = type(f"Reasoning_{name}", (UnspoolReasoningDetector,), fields)
        else:
            FunctionCallParser.ToolCallParserEnum[PREFIX + name] = type(f"Tools_{name}", (UnspoolDetector,), fields)
