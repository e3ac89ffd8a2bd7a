"""vLLM's unified path: if no half is another parser's, one pair parses the reply."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from vllm.entrypoints.generate.base.protocol import DeltaMessage, FunctionCall
from vllm.parser.abstract_parser import Parser
from vllm.parser.metrics import record_tool_parser_invocation
from vllm.parser.parser_manager import ParserManager
from vllm.parser.utils import count_history_tool_calls
from vllm.tool_parsers.tool_strict_level import ToolStrictLevel

from .. import Pair
from .. import _serving as _setup
from .._error import Error
from . import _adjust
from ._gate import Questions
from ._parsers import UnspoolReasoningParser, UnspoolToolParser
from ._reply import Reply, joined


class UnspoolParser(Parser):
    """Parses a whole reply with one pair, from the prompt on."""

    #: Set by vLLM from `--tool-strict-level`; None (0.33) leaves it to the format.
    tool_strict_level: Any = ToolStrictLevel.AUTO

    def __init__(
        self,
        tokenizer: Any,
        tools: Any = None,
        *args: Any,
        model_config: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(tokenizer, tools, *args, model_config=model_config, **kwargs)
        reasoning, tool = self._reasoning_parser, self._tool_parser
        self._names = (getattr(reasoning, "unspool_name", None), getattr(tool, "unspool_name", None))
        try:
            self._pair: Pair = _setup.pair(*self._names, tokenizer, model_config, call_ids=self._call_ids())
        except Error as error:
            raise ValueError(_setup.told(error)) from error
        self._tools = tools
        self._kwargs = kwargs.get("chat_template_kwargs")
        self._questions = Questions(self._pair, _setup.fields(None, None, self._kwargs))
        self._reply: Reply | None = None
        self._whole: tuple[int, int | None] | None = None

    def _fields(self, request: Any) -> dict[str, Any]:
        return _setup.fields(request, self._tools, self._kwargs)

    def adjust_request(self, request: Any) -> Any:
        fields = self._fields(request)
        if self._tool_parser is not None:
            _adjust.constrain_calls(self._pair, request, fields, self.tool_strict_level)
        _adjust.keep_special_tokens(self._pair, request, fields)
        return request

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        self._questions.set_prompt(prompt_token_ids)

    def is_reasoning_end(self, input_ids: list[int]) -> bool:
        if self._reasoning_parser is None:
            return False
        return self._questions.is_end(input_ids)

    def _call_ids(self) -> str | None:
        """The shape of vLLM's call ids for this checkpoint; None: the format's."""
        return "functions.{name}:{index}" if self._stream_state.tool_call_id_type == "kimi_k2" else None

    def _new(self, request: Any) -> Reply:
        fields = self._fields(request)
        fields["calls_before"] = self._calls_before(request)
        return Reply(self._pair.parser(request=fields, prompt=self._questions.prompt))

    def _calls_before(self, request: Any) -> int:
        state = self._stream_state
        if state.history_tool_call_cnt_initialized:
            return int(state.history_tool_call_cnt)
        try:
            return int(count_history_tool_calls(request))
        except (AttributeError, TypeError):
            return 0

    def parse(
        self,
        model_output: str,
        request: Any,
        enable_auto_tools: bool = False,
        model_output_token_ids: Sequence[int] = (),
    ) -> tuple[str | None, str | None, list[FunctionCall] | None]:
        reply = self._new(request)
        ids = list(model_output_token_ids)
        reply.parser.push(model_output, ids)
        message = reply.parser.finish().message
        self._whole = (len(model_output_token_ids), message.reasoning_tokens if ids else None)
        calls = [FunctionCall(id=call.id, name=call.name, arguments=call.arguments) for call in message.tool_calls]
        if self._tool_parser is not None:
            record_tool_parser_invocation(is_tool_called=bool(calls), is_streaming=False, request=request)
        return message.reasoning or None, message.content or None, calls or None

    def parse_delta(
        self,
        delta_text: str,
        delta_token_ids: list[int],
        request: Any,
        prompt_token_ids: list[int] | None = None,
        *,
        finished: bool,
    ) -> DeltaMessage | None:
        reply = self._reply
        if reply is None:
            if prompt_token_ids is not None:
                self._questions.set_prompt(prompt_token_ids)
            reply = self._reply = self._new(request)
        delta = reply.push(delta_text, delta_token_ids)
        if finished:
            delta = joined(delta, reply.finish())
        if self._tool_parser is not None:
            called = delta is not None and bool(delta.tool_calls)
            record_tool_parser_invocation(is_tool_called=called, is_streaming=True, request=request)
        return delta

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        if self._reasoning_parser is None:
            return 0
        reply = self._reply
        if reply is not None and reply.tokens == len(token_ids):
            return reply.parser.reasoning_tokens or 0
        if self._whole is not None and self._whole[0] == len(token_ids) and self._whole[1] is not None:
            return self._whole[1]
        return self._questions.count(token_ids)

    def _extract_content_ids(self, input_ids: list[int]) -> list[int]:
        return self._questions.content_ids(input_ids)


def install() -> None:
    """Makes `ParserManager` compose our parser if no half is another parser's. May be called several times."""
    compose = ParserManager._compose_parser
    if getattr(compose, "_unspool", False):
        return
    original = compose.__func__
    signature = inspect.signature(original)

    def _compose_parser(cls: type[ParserManager], *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(cls, *args, **kwargs)
        given.apply_defaults()
        ours = _ours(cls, given.arguments)
        return ours if ours is not None else original(cls, *args, **kwargs)

    _compose_parser._unspool = True  # type: ignore[attr-defined]
    ParserManager._compose_parser = classmethod(_compose_parser)


def _part(half: type | None) -> type | None:
    """A half that is never used by itself."""
    return half and type(half.__name__, (half,), {"alone": False, "__module__": half.__module__})


def _ours(manager: type[ParserManager], given: dict[str, Any]) -> type[Parser] | None:
    """Our parser with the named halves; None if a half is another parser's."""
    reasoning = manager.get_reasoning_parser(given["reasoning_parser_name"])
    tools = manager.get_tool_parser(given["tool_parser_name"], given["enable_auto_tools"], given["model_name"])
    halves = [half for half in (reasoning, tools) if half is not None]
    if not halves or not all(issubclass(half, (UnspoolReasoningParser, UnspoolToolParser)) for half in halves):
        return None
    level = given["tool_strict_level"]
    fields = {
        "reasoning_parser_cls": _part(reasoning),
        "tool_parser_cls": _part(tools),
        "tool_strict_level": None if level is None else ToolStrictLevel.from_name(level),
    }
    return type("UnspoolParser", (UnspoolParser,), fields)
