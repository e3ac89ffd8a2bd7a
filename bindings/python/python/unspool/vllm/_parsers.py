"""unspool's formats as vLLM's `ReasoningParser` and `ToolParser`. Classes are created when vLLM looks them up:
``Reasoning_<name>``, ``Tools_<name>``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from vllm.entrypoints.generate.base.protocol import (
    DeltaMessage,
    ExtractedToolCallInformation,
    FunctionCall,
    ToolCall,
)
from vllm.parser.engine.adapters import ParserEngineReasoningAdapter, ParserEngineToolAdapter
from vllm.parser.engine.parser_engine import ReasoningEnd
from vllm.reasoning.abs_reasoning_parsers import ReasoningParser
from vllm.tool_parsers.abstract_tool_parser import ToolParser

from .. import Pair
from .. import _serving as _setup
from .._error import Error
from . import _adjust
from ._gate import Questions
from ._reply import Reply

def _made(flag: str, name: str, tokenizer: Any, model_config: Any) -> Pair:
    try:
        if flag == "--reasoning-parser":
            return _setup.pair(name, None, tokenizer, model_config, raw_rest=True)
        return _setup.pair(None, name, tokenizer, model_config, raw_rest=True)
    except Error as error:
        raise ValueError(f"{flag} unspool_{name}: {_setup.told(error)}") from error


class UnspoolReasoningParser(ParserEngineReasoningAdapter):
    """A reasoning format of unspool. Content is the rest of the output, unchanged, for a tool parser.

    It is an adapter of vLLM's parser engine in name only: this makes vLLM pass only deltas, and query ends that are content.
    """

    #: The format's name.
    unspool_name: str
    #: False if one pair parses the whole reply, so that this half is never used.
    alone = True
    engine_based_streaming = True

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        ReasoningParser.__init__(self, tokenizer, *args, **kwargs)
        self._given = (tokenizer, kwargs.get("model_config"))
        if self.alone:
            self.pair  # noqa: B018  # Reports problems at start-up.
        self._fields = _setup.fields(None, None, kwargs.get("chat_template_kwargs"))
        self._has_kwargs = kwargs.get("chat_template_kwargs") is not None
        self._reply: Reply | None = None

    @cached_property
    def pair(self) -> Pair:
        return _made("--reasoning-parser", self.unspool_name, *self._given)

    @cached_property
    def _questions(self) -> Questions:
        return Questions(self.pair, self._fields)

    def _fields_of(self, request: Any) -> dict[str, Any]:
        """The arguments of the chat template: those that the parser was made with, else the request's."""
        if self._has_kwargs or request is None:
            return self._fields
        asked = _setup.fields(request, None, None)
        return self._fields | {key: asked[key] for key in ("chat_template_kwargs", "reasoning_effort") if key in asked}

    # The prompt

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        self._questions.set_prompt(prompt_token_ids)

    def adjust_initial_state_from_prompt(self, prompt_token_ids: Sequence[int]) -> None:
        self._questions.set_prompt(prompt_token_ids)

    def adjust_request(self, request: Any) -> Any:
        _adjust.keep_special_tokens(self.pair, request, self._fields)
        return request

    # The output

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        message = self.pair.parse(model_output, request=self._fields_of(request), prompt=self._questions.prompt)
        return message.reasoning or None, message.content or None

    def extract_reasoning_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
    ) -> DeltaMessage | None:
        return self._open().push(delta_text, delta_token_ids)

    def finish_streaming(self) -> DeltaMessage | None:
        return self._open().finish()

    def has_engine_confirmed_reasoning_end(self) -> bool:
        return self._open().parser.reasoning_ended

    def get_streaming_fallback_content(self, text: str, request: Any) -> str | None:
        # `finish_streaming` returns what becomes content at the end.
        return None

    def _open(self) -> Reply:
        if self._reply is None:
            parser = self.pair.parser(request=self._fields, prompt=self._questions.prompt)
            self._reply = Reply(parser)
        return self._reply

    # Questions about ids

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        return self._questions.is_end(input_ids)

    def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Iterable[int]) -> bool:
        return self._questions.is_end_streaming(input_ids, delta_ids)

    def find_reasoning_end(self, token_ids: Sequence[int]) -> ReasoningEnd | None:
        explicit, implicit = self.pair.reasoning_end_ids()
        for offset, id in enumerate(token_ids):
            if id in explicit or id in implicit:
                return ReasoningEnd(offset, id in implicit)
        return ReasoningEnd(len(token_ids), False) if explicit else None

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        return self._questions.content_ids(input_ids)

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        reply = self._reply
        if reply is not None and reply.tokens == len(token_ids):
            counted = reply.parser.reasoning_tokens
            if counted is not None:
                return counted
        return self._questions.count(token_ids)

    @property
    def reasoning_end_token_ids(self) -> frozenset[int]:
        explicit, implicit = self.pair.reasoning_end_ids()
        return frozenset(explicit | implicit)

    @property
    def implicit_reasoning_end_token_ids(self) -> frozenset[int]:
        return frozenset(self.pair.reasoning_end_ids()[1])

    @property
    def reasoning_start_str(self) -> str | None:
        markers = self.pair.reasoning_markers
        return markers[0] if markers else None

    @property
    def reasoning_end_str(self) -> str | None:
        markers = self.pair.reasoning_markers
        return markers[1] if markers else None


class UnspoolToolParser(ParserEngineToolAdapter):
    """A tool-call format of unspool, for output without its reasoning."""

    #: The format's name.
    unspool_name: str
    #: As above.
    alone = True
    engine_based_streaming = True
    supports_required_and_named = False
    #: Set by vLLM if there is no reasoning parser: reasoning markers are content then, as they always are here.
    skip_reasoning_parsing = False

    def __init__(self, tokenizer: Any, tools: Any = None, **kwargs: Any) -> None:
        self._reply: Reply | None = None
        ToolParser.__init__(self, tokenizer, tools)
        self._given = (tokenizer, kwargs.get("model_config"))
        if self.alone:
            self.pair  # noqa: B018
        self._kwargs = kwargs.get("chat_template_kwargs")

    @cached_property
    def pair(self) -> Pair:
        return _made("--tool-call-parser", self.unspool_name, *self._given)

    def _fields(self, request: Any) -> dict[str, Any]:
        return _setup.fields(request, self.tools, self._kwargs)

    def _fields_of_calls(self, request: Any) -> dict[str, Any]:
        """The same for an output. Callers of a tool parser want calls even if the tools are unknown: `none` is only the default then."""
        fields = self._fields(request)
        if not getattr(request, "tools", None):
            fields |= {"tool_choice": None, "calls_wanted": True}
        return fields

    def adjust_request(self, request: Any) -> Any:
        fields = self._fields(request)
        _adjust.constrain_calls(self.pair, request, fields)
        _adjust.keep_special_tokens(self.pair, request, fields)
        return request

    def get_structural_tag(self, request: Any, **_: Any) -> None:
        # `adjust_request` sets it.
        return None

    def extract_tool_calls(self, model_output: str, request: Any) -> ExtractedToolCallInformation:
        reply = self._new(request)
        reply.parser.push(model_output)
        message = reply.parser.finish().message
        calls = [
            ToolCall(id=call.id, type="function", function=FunctionCall(name=call.name, arguments=call.arguments))
            for call in message.tool_calls
        ]
        return ExtractedToolCallInformation(
            tools_called=bool(calls), tool_calls=calls, content=message.content or None
        )

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> DeltaMessage | None:
        if self._reply is None:
            self._reply = self._new(request)
        return self._reply.push(delta_text, delta_token_ids)

    def finish_streaming(self) -> DeltaMessage | None:
        return self._reply.finish() if self._reply is not None else None

    def get_remaining_unstreamed_args(self) -> str:
        # Arguments are streamed as soon as they are parsed.
        return ""

    def _new(self, request: Any) -> Reply:
        return Reply(self.pair.parser(request=self._fields_of_calls(request), start="content"))

    # The state that vLLM's contract requires

    @property
    def prev_tool_call_arr(self) -> list[dict[str, Any]]:
        if self._reply is None:
            return []
        calls = self._reply.calls
        return [{"name": name, "arguments": text} for name, text in zip(calls.names, calls.arguments())]

    @prev_tool_call_arr.setter
    def prev_tool_call_arr(self, value: list[dict[str, Any]]) -> None:
        self._reset(value)

    @property
    def streamed_args_for_tool(self) -> list[str]:
        return [] if self._reply is None else self._reply.calls.arguments()

    @streamed_args_for_tool.setter
    def streamed_args_for_tool(self, value: list[str]) -> None:
        self._reset(value)

    @property
    def current_tool_id(self) -> int:
        return -1 if self._reply is None else len(self._reply.calls.names) - 1

    @current_tool_id.setter
    def current_tool_id(self, value: int) -> None:
        self._reset(value if value >= 0 else None)

    @property
    def current_tool_name_sent(self) -> bool:
        return self._reply is not None and self._reply.calls.open

    @current_tool_name_sent.setter
    def current_tool_name_sent(self, value: bool) -> None:
        self._reset(value)

    def _reset(self, value: Any) -> None:
        """vLLM's constructor and tests reset the fields to their initial values: this starts a new reply."""
        if not value:
            self._reply = None


def __getattr__(name: str) -> type:
    """The class of a format, created at its first use."""
    for prefix, base in (("Reasoning_", UnspoolReasoningParser), ("Tools_", UnspoolToolParser)):
        if name.startswith(prefix):
            made = type(name, (base,), {"unspool_name": name[len(prefix) :], "__module__": __name__})
            globals()[name] = made
            return made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
