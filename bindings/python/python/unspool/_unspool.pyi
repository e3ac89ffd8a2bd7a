from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias, final

from ._diagnosis import Diagnosis

__version__: str

_Range: TypeAlias = tuple[int, int]
_Status: TypeAlias = Literal["ok", "invalid_json", "unclosed", "unknown_tool", "schema_mismatch"]
_Kind: TypeAlias = Literal["reasoning", "content", "call_start", "call_arguments", "call_end", "diagnostic"]
_Half: TypeAlias = Literal["reasoning", "tools"]
_Reason: TypeAlias = Literal["stop", "length", "tool_calls"]
_Prompt: TypeAlias = str | Sequence[int] | Sequence[tuple[int, bytes]]
_Start: TypeAlias = Literal["content", "reasoning"]
_Tools: TypeAlias = Sequence[Mapping[str, Any]] | Mapping[str, Any]
_Request: TypeAlias = Mapping[str, Any]

@final
class Vocabulary:
    def __new__(
        cls,
        special: Mapping[str, int] = ...,
        hidden: Sequence[str] = ...,
        bytes: Mapping[int, bytes] | None = None,
        *,
        tokenizer_config: Mapping[str, Any] | None = None,
        model_type: str | None = None,
        template: str | None = None,
    ) -> Vocabulary: ...
    @staticmethod
    def from_folder(path: str | PathLike[str]) -> Vocabulary: ...
    @staticmethod
    def from_tokenizer_json(
        json: str,
        *,
        tokenizer_config: Mapping[str, Any] | None = None,
        model_type: str | None = None,
        template: str | None = None,
    ) -> Vocabulary: ...
    @property
    def special(self) -> dict[str, int]: ...
    @property
    def hidden(self) -> list[str]: ...
    @property
    def has_bytes(self) -> bool: ...
    def token_bytes(self, id: int) -> bytes | None: ...

@final
class Place:
    def __new__(cls, span: _Range, char_span: _Range, tokens: _Range | None = None) -> Place: ...
    @property
    def span(self) -> _Range: ...
    @property
    def char_span(self) -> _Range: ...
    @property
    def tokens(self) -> _Range | None: ...

@final
class ToolCall:
    def __new__(
        cls,
        id: str,
        name: str,
        arguments: str,
        complete: bool = True,
        *,
        status: _Status | None = None,
        place: Place | None = None,
        argument_places: Sequence[Place] = ...,
    ) -> ToolCall: ...
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> str: ...
    @property
    def complete(self) -> bool: ...
    @property
    def status(self) -> _Status | None: ...
    @property
    def place(self) -> Place | None: ...
    @property
    def argument_places(self) -> list[Place]: ...
    def to_openai(self) -> dict[str, Any]: ...

@final
class Diagnostic:
    def __new__(
        cls, kind: str, offset: int, text: str, message: str, read: str | None = None
    ) -> Diagnostic: ...
    @property
    def kind(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def read(self) -> str | None: ...

@final
class Message:
    def __new__(
        cls,
        reasoning: str | None = "",
        content: str | None = "",
        tool_calls: Sequence[ToolCall] = ...,
        *,
        diagnostics: Sequence[Diagnostic] = ...,
        finish_reason: _Reason = "stop",
        reasoning_tokens: int | None = None,
        reasoning_end_token: int | None = None,
        reasoning_places: Sequence[Place] = ...,
        content_places: Sequence[Place] = ...,
    ) -> Message: ...
    @staticmethod
    def from_openai(message: Mapping[str, Any]) -> Message: ...
    @property
    def reasoning(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def tool_calls(self) -> list[ToolCall]: ...
    @property
    def diagnostics(self) -> list[Diagnostic]: ...
    @property
    def finish_reason(self) -> _Reason: ...
    @property
    def reasoning_tokens(self) -> int | None: ...
    @property
    def reasoning_end_token(self) -> int | None: ...
    @property
    def reasoning_places(self) -> list[Place]: ...
    @property
    def content_places(self) -> list[Place]: ...
    def to_openai(self) -> dict[str, Any]: ...

@final
class Event:
    @property
    def kind(self) -> _Kind: ...
    @property
    def text(self) -> str | None: ...
    @property
    def span(self) -> _Range: ...
    @property
    def char_span(self) -> _Range: ...
    @property
    def tokens(self) -> _Range | None: ...
    @property
    def index(self) -> int | None: ...
    @property
    def id(self) -> str | None: ...
    @property
    def name(self) -> str | None: ...
    @property
    def complete(self) -> bool | None: ...
    @property
    def diagnostic(self) -> Diagnostic | None: ...

@final
class End:
    @property
    def events(self) -> list[Event]: ...
    @property
    def message(self) -> Message: ...
    @property
    def finish_reason(self) -> _Reason: ...

@final
class Snapshot:
    def __new__(cls, bytes: bytes) -> Snapshot: ...
    def __bytes__(self) -> bytes: ...

@final
class Parser:
    def push(self, text: str | None = None, ids: Sequence[int] | None = None) -> list[Event]: ...
    def finish(self, reason: _Reason | None = None) -> End: ...
    def set_request(self, request: _Request | None = None, *, tools: _Tools | None = None) -> None: ...
    def snapshot(self) -> Snapshot: ...
    def restore(self, snapshot: Snapshot) -> None: ...
    @property
    def calls(self) -> int: ...
    @property
    def held_bytes(self) -> int: ...
    @property
    def is_thinking(self) -> bool: ...
    @property
    def reasoning_ended(self) -> bool: ...
    @property
    def reasoning_tokens(self) -> int | None: ...
    @property
    def reasoning_end_token(self) -> int | None: ...

@final
class Gate:
    def advance(self, ids: Sequence[int]) -> tuple[int, int]: ...
    def copy(self) -> Gate: ...
    @property
    def ended(self) -> bool: ...
    @property
    def ended_in_step(self) -> bool: ...
    @property
    def reasoning_end(self) -> tuple[int, int] | None: ...
    @property
    def reasoning_tokens(self) -> int: ...

@final
class Grammar:
    def structural_tag(self) -> dict[str, Any]: ...
    def lark(self) -> str: ...
    def json_schema(self) -> dict[str, Any] | None: ...

@final
class Detected:
    @property
    def reasoning(self) -> str | None: ...
    @property
    def tools(self) -> str | None: ...
    @property
    def reasoning_why(self) -> str: ...
    @property
    def tools_why(self) -> str: ...

@final
class Pair:
    def __new__(
        cls,
        reasoning: str | None = None,
        tools: str | None = None,
        *,
        vocabulary: object = None,
        model_type: str | None = None,
        tokenizer_config: Mapping[str, Any] | None = None,
        incomplete_calls: Literal["stream", "text", "drop"] = "stream",
        call_ids: int | str | None = None,
        raw_rest: bool = False,
        limits: Mapping[str, int | str] | None = None,
        model: str | None = None,
    ) -> Pair: ...
    @property
    def reasoning(self) -> str | None: ...
    @property
    def tools(self) -> str | None: ...
    @property
    def vocabulary(self) -> Vocabulary | None: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def reasoning_markers(self) -> tuple[str, str] | None: ...
    def needs_special_tokens(self, request: _Request | None = None, *, tools: _Tools | None = None) -> bool: ...
    def parser(
        self, *, tools: _Tools | None = None, prompt: _Prompt | None = None, start: _Start | None = None, request: _Request | None = None
    ) -> Parser: ...
    def parse(
        self,
        text: str,
        *,
        tools: _Tools | None = None,
        prompt: _Prompt | None = None,
        start: _Start | None = None,
        request: _Request | None = None,
        reason: _Reason | None = None,
    ) -> Message: ...
    def parse_ids(
        self,
        ids: Sequence[int],
        *,
        tools: _Tools | None = None,
        prompt: _Prompt | None = None,
        start: _Start | None = None,
        request: _Request | None = None,
        reason: _Reason | None = None,
    ) -> Message: ...
    def token_kinds(
        self,
        ids: Sequence[int],
        *,
        tools: _Tools | None = None,
        prompt: _Prompt | None = None,
        start: _Start | None = None,
        request: _Request | None = None,
        reason: _Reason | None = None,
    ) -> bytes: ...
    def parse_many(
        self,
        outputs: Sequence[str | Sequence[int]],
        *,
        tools: _Tools | None = None,
        prompt: _Prompt | None = None,
        start: _Start | None = None,
        request: _Request | None = None,
        reason: _Reason | None = None,
        threads: int = 1,
    ) -> list[Message]: ...
    def render(
        self, message: Message | Mapping[str, Any], *, tools: _Tools | None = None, request: _Request | None = None
    ) -> str: ...
    def grammar(
        self,
        request: _Request | None = None,
        *,
        tools: _Tools | None = None,
        strict_level: Literal["auto", "function", "parameter"] = "auto",
        enforce: bool = True,
        with_thought: bool = False,
        thought_open: bool | None = None,
    ) -> Grammar | None: ...
    def gate(
        self,
        *,
        tools: _Tools | None = None,
        prompt: _Prompt | None = None,
        start: _Start | None = None,
        request: _Request | None = None,
        enable_in_reasoning: bool = False,
    ) -> Gate: ...
    def reasoning_end_ids(self) -> tuple[set[int], set[int]]: ...
    def is_reasoning_end(self, ids: Sequence[int], *, request: _Request | None = None) -> bool: ...
    def content_ids(self, ids: Sequence[int], *, request: _Request | None = None) -> list[int]: ...
    def count_reasoning_tokens(
        self,
        ids: Sequence[int],
        *,
        prompt: _Prompt | None = None,
        start: _Start | None = None,
        request: _Request | None = None,
    ) -> int: ...
    def explain(self) -> str: ...

def formats() -> list[tuple[_Half, str, str]]: ...
def add_formats(path: str | PathLike[str]) -> list[tuple[_Half, str]]: ...
def detect(checkpoint: object) -> Detected: ...
def diagnose(
    output: str | Mapping[str, Any] | Sequence[Any],
    *,
    reasoning: str | None = None,
    tool_calls: str | None = None,
    tools: _Tools | None = None,
    request: _Request | None = None,
    prompt: str | None = None,
    checkpoint: object = None,
    template: str | None = None,
    model: str | None = None,
    serve_args: str | None = None,
) -> Diagnosis: ...
