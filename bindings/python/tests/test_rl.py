"""What a training run asks: places, statuses, and whether the model wrote canonically."""

from __future__ import annotations

import pickle

import pytest

import unspool
from unspool.rl import rewrite

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "tide",
            "parameters": {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]},
        },
    }
]
#: Each printable ASCII character is a token, beside these.
MARKERS = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>", "<pad>", "tide", "Looe", "é"]


def vocabulary() -> unspool.Vocabulary:
    texts = {id: chr(id) for id in range(32, 127)} | {10: "\n"} | {200 + i: text for i, text in enumerate(MARKERS)}
    special = {text: id for id, text in texts.items() if text.startswith("<") and len(text) > 1}
    return unspool.Vocabulary(special, ["<|im_end|>", "<pad>"], {id: text.encode() for id, text in texts.items()})


def encode(text: str) -> list[int]:
    """The longest token first."""
    ids = []
    while text:
        marker = max((m for m in MARKERS if text.startswith(m)), key=len, default=None)
        ids.append(200 + MARKERS.index(marker) if marker else ord(text[0]))
        text = text[len(marker or " ") :]
    return ids


def pair() -> unspool.Pair:
    return unspool.Pair("qwen3", "hermes", vocabulary=vocabulary())


def call(body: str) -> str:
    return f"<tool_call>\n{body}\n</tool_call>"


GOOD = call('{"name": "tide", "arguments": {"port": "Looe"}}')


def test_each_call_has_a_status() -> None:
    output = "\n".join(
        [
            GOOD,
            call('{"name": "wind", "arguments": {}}'),
            call('{"name": "tide", "arguments": {"port": 3}}'),
            call('{"name": "tide", "arguments": [1]}'),
            '<tool_call>\n{"name": "tide", "arguments": {"port": "Lo',
        ]
    )
    expected = ["ok", "unknown_tool", "schema_mismatch", "invalid_json", "unclosed"]
    for message in (pair().parse(output, tools=TOOLS), pair().parse_ids(encode(output), tools=TOOLS)):
        assert [c.status for c in message.tool_calls] == expected
        assert [c.status for c in pickle.loads(pickle.dumps(message)).tool_calls] == expected
    # Without tools no function is unknown, and there is no schema to miss.
    free = pair().parse(output, request={"calls_wanted": True})
    assert [c.status for c in free.tool_calls] == ["ok", "ok", "ok", "invalid_json", "unclosed"]


def test_everything_says_where_it_was_read() -> None:
    output = f"<think>\nà é\n</think>\n\nÉté: é.\n{GOOD}"
    # No token has `à` or `É`: the text comes with the ids of its neighbours.
    text_only = pair().parse(output, tools=TOOLS)
    ids = encode(output.replace("à", "a").replace("É", "E"))
    by_ids = pair().parse_ids(ids, tools=TOOLS)
    for message, text in ((text_only, output), (by_ids, output.replace("à", "a").replace("É", "E"))):
        raw = text.encode()
        (thought,), (answer,) = message.reasoning_places, message.content_places
        assert raw[slice(*thought.span)].decode() == text[slice(*thought.char_span)] == message.reasoning
        assert raw[slice(*answer.span)].decode() == text[slice(*answer.char_span)] == message.content
        (tide,) = message.tool_calls
        assert tide.place is not None and text[slice(*tide.place.char_span)].strip().startswith("<tool_call>")
        assert "".join(text[slice(*place.char_span)] for place in tide.argument_places) == tide.arguments
        assert pickle.loads(pickle.dumps(message)).content_places == message.content_places
    (answer,) = by_ids.content_places
    assert answer.tokens is not None and text_only.content_places[0].tokens is None
    known = vocabulary()
    assert b"".join(known.token_bytes(id) or b"" for id in ids[slice(*answer.tokens)]).decode() == by_ids.content


def test_events_count_characters_however_they_are_cut() -> None:
    output = "<think>é€𝄞</think>𝄞é, x" + GOOD
    for size in (1, 3, len(output)):
        parser = pair().parser(tools=TOOLS)
        events = [e for at in range(0, len(output), size) for e in parser.push(output[at : at + size])]
        events += parser.finish().events
        for event in events:
            if event.kind in ("reasoning", "content"):
                assert output[slice(*event.char_span)] == event.text
        whole = next(event for event in events if event.kind == "call_end")
        assert output[slice(*whole.char_span)] == output.encode()[slice(*whole.span)].decode()


def test_what_the_model_wrote_canonically_is_written_the_same() -> None:
    for output in (f"<think>\nLooe?\n</think>\n\n{GOOD}", "<think>\nHm.\n</think>\n\nNoon.", f"{GOOD}\n{GOOD}"):
        ids = encode(output)
        again = rewrite(pair(), [*ids, 204], encode, tools=TOOLS)
        assert again.canonical, again
        assert (again.text, again.ids) == (output, [*ids, 204])


def test_the_prompt_has_written_the_opener() -> None:
    made = unspool.Pair("deepseek_r1", "hermes", vocabulary=vocabulary())
    full = rewrite(made, encode("<think>\nHm.\n</think>\n\nNoon."), encode)
    prompt = "<|im_start|>assistant\n" + (full.text or "").split("Hm.")[0]
    behind = (full.text or "").split("Hm.", 1)[1]
    again = rewrite(made, encode(f"Hm.{behind}"), encode, prompt=prompt)
    assert again.canonical and again.text == f"Hm.{behind}", again


def test_where_the_model_wrote_otherwise_is_said() -> None:
    spaced = call('{"name": "tide",  "arguments": {"port": "Looe"}}')
    ids = encode(f"{GOOD}\n{spaced}")
    again = rewrite(pair(), ids, encode, tools=TOOLS)
    assert not again.canonical and again.text == f"{GOOD}\n{GOOD}"
    (one,) = again.differences
    assert (one.wrote, one.canonical, one.same_text) == (" ", "", False)
    assert ids[slice(*one.tokens)] == [32]
    # The same text from other tokens.
    spelled = [i for id in encode(GOOD) for i in (list(b"Looe") if id == 200 + MARKERS.index("Looe") else [id])]
    (one,) = rewrite(pair(), spelled, encode, tools=TOOLS).differences
    assert one.same_text and one.wrote == "Looe" and one.tokens[1] - one.tokens[0] == 4


def test_what_cannot_be_written_again_says_why() -> None:
    cut = rewrite(pair(), encode('<tool_call>\n{"name": "tide", "arguments": {"po'), encode, tools=TOOLS, reason="length")
    assert cut.error is not None and cut.error.place and not cut.canonical and cut.ids is None
    assert cut.message.tool_calls[0].status == "unclosed"
    with pytest.raises(unspool.Error) as caught:
        rewrite(unspool.Pair("qwen3"), [1], encode)
    assert caught.value.kind == "no_vocab"
