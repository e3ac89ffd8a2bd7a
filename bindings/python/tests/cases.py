"""The cases of ``corpus/`` and ``cases/``, and how an answer compares with what a case expects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import unspool

ROOT = Path(__file__).resolve().parents[3]

#: First id of the tokens that spell one byte each; far above the ids of the cases.
FIRST_BYTE_ID = 2_000_000


@dataclass(frozen=True)
class Answer:
    """What a door gave."""

    reasoning: str
    content: str
    calls: Sequence[tuple[str, str, str]]  # id, name, arguments
    finish_reason: str | None = None
    complete: Sequence[bool] | None = None
    reasoning_tokens: int | None = None
    gate_step: int | None = None

    @staticmethod
    def of(message: unspool.Message) -> Answer:
        return Answer(
            message.reasoning,
            message.content,
            [(call.id, call.name, call.arguments) for call in message.tool_calls],
            message.finish_reason,
            [call.complete for call in message.tool_calls],
            message.reasoning_tokens,
            message.reasoning_end_token,
        )


class Case:
    """One case; see ``corpus/README.md``."""

    def __init__(self, fields: dict[str, Any], line: str) -> None:
        self.fields = fields
        self.line = line
        self.id: str = fields["id"]
        self.reasoning: str | None = fields.get("reasoning_parser")
        self.tools_parser: str | None = fields.get("tool_parser")
        self.finish: Any = fields.get("finish")
        self.expect: dict[str, Any] = fields["expect"]
        self.special: dict[str, int] = fields.get("special_token_ids") or {}
        self.hidden: list[str] = fields.get("hidden_special_tokens") or []
        self.tokens = [_token(token) for token in fields.get("tokens") or []]
        self.prompt_tokens = [_token(token) for token in fields.get("prompt_tokens") or []]

    @cached_property
    def request(self) -> dict[str, Any]:
        request = dict(self.fields.get("request") or {})
        request["tools"] = self.fields.get("tools")
        request["id_seed"] = 7
        return request

    @cached_property
    def output(self) -> str:
        """The output as a backend gives it: without the stop token's text at its end."""
        text: str = self.fields["text"]
        stop = next((t for t, id in self.special.items() if id == self.fields.get("eos_id")), None)
        if stop and text.endswith(stop):
            rest = text[: -len(stop)]
            if not self.tokens or len(rest.encode()) == sum(len(token) for _, token in self.tokens):
                return rest
        return text

    @cached_property
    def prompt_text(self) -> str | None:
        prompt = b"".join(token for _, token in self.prompt_tokens)
        return prompt.decode(errors="replace") or None

    @cached_property
    def token_bytes(self) -> dict[int, bytes]:
        table = {id: text.encode() for text, id in self.special.items()}
        table.update(self.prompt_tokens)
        table.update(self.tokens)
        table.update({FIRST_BYTE_ID + byte: bytes([byte]) for byte in range(256)})
        return table

    @cached_property
    def byte_ids(self) -> list[int]:
        """Ids that spell the output byte by byte; special tokens stay whole."""
        special = set(self.special.values())
        ids: list[int] = []
        for id, token in self.tokens:
            ids.extend([id] if id in special else [FIRST_BYTE_ID + byte for byte in token])
        return ids

    def token_pieces(self) -> list[tuple[str, int]]:
        """Tokens with their text as a server gives it: a character of several tokens comes with the last."""
        held = b""
        pieces = []
        for id, token in self.tokens:
            held += token
            text = held.decode(errors="ignore")
            if not held.startswith(text.encode()):
                text = ""
            held = held[len(text.encode()) :]
            pieces.append((text, id))
        return pieces

    def pair(self, with_bytes: bool) -> unspool.Pair:
        vocabulary = unspool.Vocabulary(self.special, self.hidden, self.token_bytes if with_bytes else None)
        return unspool.Pair(
            self.reasoning,
            self.tools_parser,
            vocabulary=vocabulary,
            model_type=self.fields.get("model_type"),
            tokenizer_config=self.fields.get("tokenizer_config"),
            incomplete_calls=self.fields.get("incomplete_calls") or "stream",
        )

    def differences(self, answer: Answer | unspool.Error, *, with_ids: bool) -> list[str]:
        """All that is wrong with an answer; empty: nothing."""
        first = self.expect
        if not with_ids and self.fields.get("expect_text_only"):
            first = self.fields["expect_text_only"]
        if first.get("error"):
            return [] if isinstance(answer, unspool.Error) else ["accepted, but must be refused"]
        if isinstance(answer, unspool.Error):
            return [f"refused: {answer}"]
        found = self._value_differences(first, answer)
        others = self.fields.get("also_ok") or []
        return [] if any(not self._value_differences(other, answer) for other in others) else found

    def count_differences(self, answer: Answer) -> list[str]:
        """Whether tokens were counted as the case says; for doors with ids."""
        found = []
        for key in ("reasoning_tokens", "gate_step"):
            given = getattr(answer, key)
            if key in self.expect and self.expect[key] != given:
                found.append(f"{key} is {given}, not {self.expect[key]}")
        return found

    def _value_differences(self, expect: dict[str, Any], answer: Answer) -> list[str]:
        loose = expect.get("whitespace") == "loose"
        found = _text_difference("reasoning", expect.get("reasoning"), answer.reasoning, loose)
        if not expect.get("content_any"):
            found += _text_difference("content", expect.get("content"), answer.content, loose)
        found += self._call_differences(expect.get("tool_calls") or [], answer)
        reason = expect.get("finish_reason")
        if answer.finish_reason is not None and reason is not None and reason != answer.finish_reason:
            found.append(f"finish_reason is {answer.finish_reason}, not {reason}")
        return found

    def _call_differences(self, wanted: list[dict[str, Any]], answer: Answer) -> list[str]:
        if len(wanted) != len(answer.calls):
            return [f"{len(answer.calls)} calls, not {len(wanted)}: {answer.calls!r}"]
        found = []
        for index, (want, (id, name, arguments)) in enumerate(zip(wanted, answer.calls)):
            cut = self.finish == "length" and index + 1 == len(wanted)
            if want["name"] != name:
                found.append(f"call {index}: name is {name!r}, not {want['name']!r}")
            if want.get("id") is not None and want["id"] != id:
                found.append(f"call {index}: id is {id!r}, not {want['id']!r}")
            partial = bool(want.get("partial"))
            if answer.complete is not None and answer.complete[index] == partial:
                found.append(f"call {index}: complete is {answer.complete[index]}")
            if partial:
                prefix = want.get("arguments_prefix") or ""
                if not (arguments == prefix if cut else arguments.startswith(prefix)):
                    found.append(f"call {index}: arguments are {arguments!r}, not {prefix!r}…")
            elif not _same_json(self._raw(want), arguments):
                found.append(f"call {index}: arguments are {arguments!r}, not {want.get('arguments')!r}")
        return found

    @staticmethod
    def _raw(want: dict[str, Any]) -> Any:
        return want.get("arguments")


class _Number:
    """A number as written, compared as an exact decimal; no boolean."""

    def __init__(self, text: str) -> None:
        self.value = Decimal(text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Number) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return str(self.value)


def _bad_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def loads_exactly(text: str) -> Any:
    """JSON whose numbers keep their digits."""
    return json.loads(text, parse_float=_Number, parse_int=_Number, parse_constant=_bad_constant)


def _same_json(wanted: Any, given: str) -> bool:
    try:
        return bool(wanted == loads_exactly(given))
    except ValueError:
        return False


def _text_difference(field: str, expected: str | None, given: str, loose: bool) -> list[str]:
    expected = expected or ""
    same = expected.split() == given.split() if loose else expected.strip() == given.strip()
    if loose and not same:
        same = "".join(expected.split()) == "".join(given.split())
    return [] if same else [f"{field} is {given!r}, not {expected!r}"]


def _token(written: list[Any]) -> tuple[int, bytes]:
    if len(written) == 3 and written[1] is None:
        return written[0], bytes.fromhex(written[2])
    return written[0], written[1].encode()


def _load() -> list[Case]:
    cases = []
    for folder in ("corpus", "cases"):
        for path in sorted((ROOT / folder).glob("*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                if line.strip():
                    fields = json.loads(line)
                    exact = loads_exactly(line)
                    for key in ("expect", "expect_text_only"):
                        _keep_exact(fields.get(key), exact.get(key))
                    for plain, kept in zip(fields.get("also_ok") or [], exact.get("also_ok") or []):
                        _keep_exact(plain, kept)
                    cases.append(Case(fields, line))
    return cases


def _keep_exact(fields: dict[str, Any] | None, exact: dict[str, Any] | None) -> None:
    for call, kept in zip((fields or {}).get("tool_calls") or [], (exact or {}).get("tool_calls") or []):
        if "arguments" in kept:
            call["arguments"] = kept["arguments"]


CASES = _load()
