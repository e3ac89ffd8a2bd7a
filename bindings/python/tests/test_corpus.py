"""Every case of the corpus through the doors of the wheel: whole, byte by byte, tokens with text, ids alone, saved and restored."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import unspool
from cases import CASES, Answer, Case

ALL = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


def fold(events: list[unspool.Event], end: unspool.End) -> Answer:
    """The message as a client puts it together from the events."""
    texts = {"reasoning": "", "content": ""}
    calls: list[list[str]] = []
    complete: list[bool] = []
    for event in [*events, *end.events]:
        if event.kind == "reasoning" or event.kind == "content":
            texts[event.kind] += event.text or ""
        elif event.kind == "call_start":
            assert event.index == len(calls)
            calls.append([event.id or "", event.name or "", ""])
            complete.append(False)
        elif event.kind == "call_arguments":
            assert event.index is not None
            calls[event.index][2] += event.text or ""
        elif event.kind == "call_end":
            assert event.index is not None and event.complete is not None
            complete[event.index] = event.complete
        else:
            assert event.diagnostic is not None
    message = end.message
    assert texts == {"reasoning": message.reasoning, "content": message.content}
    assert calls == [[call.id, call.name, call.arguments] for call in message.tool_calls]
    assert complete == [call.complete for call in message.tool_calls]
    return Answer.of(message)


def check(case: Case, run: Any, *, with_ids: bool, counts: bool = False) -> None:
    try:
        answer = run()
    except unspool.Error as error:
        answer = error
    found = case.differences(answer, with_ids=with_ids)
    if counts and isinstance(answer, Answer) and not found:
        found = case.count_differences(answer)
    assert not found, f"{found}\n{case.fields.get('note')}"


@ALL
def test_whole(case: Case) -> None:
    def run() -> Answer:
        pair = case.pair(with_bytes=False)
        prompt = case.fields.get("prompt_tail")
        return Answer.of(pair.parse(case.output, request=case.request, prompt=prompt, reason=case.finish))

    check(case, run, with_ids=False)


@ALL
def test_byte_by_byte(case: Case) -> None:
    """A character of text at a time, and each token of the ids as single bytes."""

    def text() -> Answer:
        parser = case.pair(with_bytes=False).parser(request=case.request, prompt=case.prompt_text)
        events = [event for character in case.output for event in parser.push(character)]
        return fold(events, parser.finish(case.finish))

    check(case, text, with_ids=False)
    if not case.tokens:
        return

    def single_bytes() -> Answer:
        parser = case.pair(with_bytes=True).parser(request=case.request, prompt=case.prompt_tokens or None)
        events = [event for id in case.byte_ids for event in parser.push(ids=[id])]
        return fold(events, parser.finish(case.finish))

    check(case, single_bytes, with_ids=True)


@ALL
def test_tokens_with_text(case: Case) -> None:
    if not case.tokens:
        pytest.skip("the case has no tokens")

    def run() -> Answer:
        pair = case.pair(with_bytes=False)
        parser = pair.parser(request=case.request, prompt=case.prompt_tokens or None)
        events: list[unspool.Event] = []
        for number, (text, id) in enumerate(case.token_pieces()):
            events += parser.push(text, [id])
            if number % 7 == 3:
                # Goes on in another parser, as another process would.
                saved = pickle.dumps(parser.snapshot())
                parser = pair.parser(request=case.request, prompt=case.prompt_tokens or None)
                parser.restore(pickle.loads(saved))
        return fold(events, parser.finish(case.finish))

    check(case, run, with_ids=True, counts=True)


@ALL
def test_ids_alone(case: Case) -> None:
    if not case.tokens:
        pytest.skip("the case has no tokens")

    def run() -> Answer:
        pair = case.pair(with_bytes=True)
        ids = [id for id, _ in case.tokens]
        message = pair.parse_ids(ids, request=case.request, prompt=case.prompt_tokens or None, reason=case.finish)
        many = pair.parse_many([ids] * 3, request=case.request, prompt=case.prompt_tokens or None, reason=case.finish, threads=2)
        assert many == [message] * 3
        return Answer.of(message)

    check(case, run, with_ids=True, counts=True)
