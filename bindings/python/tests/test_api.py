"""The wheel's own classes."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import unspool

TOOLS = [{"type": "function", "function": {"name": "tide", "parameters": {"type": "object", "properties": {"harbour": {"type": "string"}}}}}]
OUTPUT = '<think>\nWhich harbour?\n</think>\n\n<tool_call>\n{"name": "tide", "arguments": {"harbour": "Looe"}}\n</tool_call>'


def pair(**options: Any) -> unspool.Pair:
    return unspool.Pair("qwen3", "hermes", **options)


def test_events_join_to_the_message() -> None:
    parser = pair().parser(tools=TOOLS)
    events = [event for character in OUTPUT for event in parser.push(character)]
    end = parser.finish("stop")
    events += end.events
    kinds = [event.kind for event in events]
    assert kinds[0] == "reasoning" and kinds[-1] == "call_end"
    assert "".join(e.text or "" for e in events if e.kind == "reasoning") == end.message.reasoning == "Which harbour?"
    assert end.finish_reason == end.message.finish_reason == "tool_calls"
    call = end.message.tool_calls[0]
    start = next(event for event in events if event.kind == "call_start")
    assert (start.name, start.id, start.index, start.text) == (call.name, call.id, 0, None)
    assert json.loads(call.arguments) == {"harbour": "Looe"} and call.complete


def test_openai_shapes_go_both_ways() -> None:
    message = pair().parse(OUTPUT, tools=TOOLS)
    said = message.to_openai()
    assert said["role"] == "assistant" and said["content"] is None and said["reasoning"] == "Which harbour?"
    assert said["tool_calls"][0]["function"]["name"] == "tide"
    again = unspool.Message.from_openai(said)
    assert again.tool_calls == message.tool_calls and again.reasoning == message.reasoning
    assert pair().parse(pair().render(said, tools=TOOLS), tools=TOOLS).tool_calls[0].name == "tide"
    with pytest.raises(unspool.Error) as caught:
        unspool.Message.from_openai({"tool_calls": [{"function": {}}]})
    assert (caught.value.kind, caught.value.place) == ("message", "tool_calls[0]")


def test_many_is_each() -> None:
    outputs = [OUTPUT, "Plain.", "<think>Cut"] * 7
    for threads in (1, 3, 50):
        many = pair().parse_many(outputs, tools=TOOLS, request={"id_seed": 1}, threads=threads)
        assert many == [pair().parse(text, tools=TOOLS, request={"id_seed": 1}) for text in outputs]
    assert pair().parse_many([]) == []


def test_everything_pickles_and_shows_itself() -> None:
    made = pair(vocabulary={"<think>": 1, "</think>": 2}, limits={"calls": 3}, tokenizer_config={"a": [1]})
    parser = made.parser(tools=TOOLS, request={"id_seed": 3})
    events = parser.push(OUTPUT[:40])
    snapshot = pickle.loads(pickle.dumps(parser.snapshot()))
    parser.push(OUTPUT[40:])
    message = parser.finish().message
    other = pickle.loads(pickle.dumps(made)).parser(tools=TOOLS, request={"id_seed": 3})
    other.restore(snapshot)
    other.push(OUTPUT[40:])
    assert other.finish().message == message
    for thing in [message, *message.tool_calls, made.vocabulary, unspool.Diagnostic("call_cut_off", 3, "x", "It ended.")]:
        again = pickle.loads(pickle.dumps(thing))
        assert repr(again) == repr(thing)
        assert repr(copy.deepcopy(thing)) == repr(thing)
    assert repr(made) == "Pair(reasoning='qwen3', tools='hermes')"
    assert repr(events[0]).startswith("<reasoning ")
    assert "Which harbour?" in repr(message) and "tide" in repr(message)


def test_a_snapshot_of_another_pair_is_refused() -> None:
    snapshot = pair().parser().snapshot()
    with pytest.raises(unspool.Error) as caught:
        unspool.Pair("deepseek_r1").parser().restore(snapshot)
    assert caught.value.kind == "snapshot"
    with pytest.raises(unspool.Error):
        pair().parser().restore(unspool.Snapshot(b"{"))


def test_errors_say_kind_hint_and_place() -> None:
    with pytest.raises(unspool.Error) as caught:
        unspool.Pair("qwen33")
    error = caught.value
    assert error.kind == "unknown_name" and error.hint is not None and "`qwen3`" in error.hint
    assert "qwen33" in str(error)
    if hasattr(error, "__notes__"):
        assert error.__notes__ == [f"hint: {error.hint}"]
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.kind, again.hint, again.place) == (str(error), error.kind, error.hint, error.place)

    for call, kind, place in [
        (lambda: pair(limits={"callz": 3}), "argument", "limits"),
        (lambda: pair(incomplete_calls="keep"), "argument", "incomplete_calls"),
        (lambda: pair(vocabulary=3), "argument", "vocabulary"),
        (lambda: pair(vocabulary="/nowhere/at/all"), "bad_checkpoint", None),
        (lambda: pair().parser().push(ids=[1]), "no_vocab", "ids"),
        (lambda: pair().parse_ids([1]), "no_vocab", "ids"),
        (lambda: pair().parser().finish("end"), "argument", "reason"),  # type: ignore[arg-type]
        (lambda: pair().parser(tools="f"), "argument", "tools"),  # type: ignore[arg-type]
        (lambda: pair().parser(request={"tool_choice": "sometimes"}), "request", "tool_choice"),
        (lambda: pair().grammar(tools=TOOLS, strict_level="very"), "argument", "strict_level"),  # type: ignore[arg-type]
        (lambda: unspool.Pair("deepseek_r1", vocabulary={"a": 1}, model="m/odd"), "missing_tokens", None),
    ]:
        with pytest.raises(unspool.Error) as caught:
            call()  # type: ignore[no-untyped-call]
        assert (caught.value.kind, caught.value.place) == (kind, place), str(caught.value)


def test_the_grammar_is_for_calls_and_answers() -> None:
    assert pair().grammar(tools=TOOLS) is None
    demanded = pair().grammar({"tool_choice": "required"}, tools=TOOLS)
    assert demanded is not None
    assert demanded.structural_tag()["type"] == "structural_tag"
    assert "tide" in demanded.lark()
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    answer = pair().grammar({"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}})
    assert answer is not None and answer.json_schema() == schema


def test_the_gate_opens_behind_the_thought() -> None:
    made = pair(vocabulary={"<think>": 1, "</think>": 2})
    gate = made.gate(prompt="<think>\n")
    assert gate.advance([7, 8]) == (3, 3) and not gate.ended
    draft = gate.copy()
    assert draft.advance([9, 2, 7]) == (2, 2) and draft.ended and draft.reasoning_end == (4, 4)
    assert not gate.ended
    assert draft.reasoning_tokens == 3


def test_tokens_are_counted() -> None:
    vocabulary = unspool.Vocabulary({"<think>": 1, "</think>": 2}, bytes={1: b"<think>", 2: b"</think>", 3: b"so", 4: b" it", 5: b" is"})
    message = pair(vocabulary=vocabulary).parse_ids([1, 3, 4, 2, 5])
    assert (message.reasoning, message.content) == ("so it", " is")
    assert (message.reasoning_tokens, message.reasoning_end_token) == (2, 3)


def test_events_say_where_they_were_read() -> None:
    vocabulary = unspool.Vocabulary({"<think>": 1, "</think>": 2}, bytes={1: b"<think>", 2: b"</think>", 3: b"so", 4: b" it", 5: b"is"})
    parser = pair(vocabulary=vocabulary).parser()
    events = [event for ids in ([1], [3], [4, 2], [5]) for event in parser.push(ids=ids)] + parser.finish("stop").events
    output = b"<think>so it</think>is"
    assert [(event.kind, event.text, event.tokens) for event in events] == [
        ("reasoning", "so", (1, 2)),
        ("reasoning", " it", (2, 3)),
        ("content", "is", (4, 5)),
    ]
    assert all(output[slice(*event.span)].decode() == event.text for event in events)


def test_masks_have_a_kind_for_each_token() -> None:
    texts = ["<think>", "so", "</think>", "ok ", "<tool_call>", '{"name": "tide", ', '"arguments": {}}', "</tool_call>"]
    vocabulary = unspool.Vocabulary({"<think>": 0, "</think>": 2}, bytes={id: text.encode() for id, text in enumerate(texts)})
    kinds = pair(vocabulary=vocabulary).token_kinds(list(range(len(texts))), tools=TOOLS, reason="stop")
    assert list(kinds) == [0, 1, 0, 2, 3, 3, 3, 0]


def test_formats_of_your_own(tmp_path: Path) -> None:
    text = 'names.tools = ["my_hermes"]\nnote = "Mine."\n[tools]\ncall = "\\n<tool_call>\\n{envelope}\\n</tool_call>"\n'
    assert ("tools", "hermes", "formats/hermes.toml") in unspool.formats()
    own = tmp_path / "own.toml"
    own.write_text(text)
    names = unspool.add_formats(own)
    assert ("tools", "my_hermes") in names
    mine = unspool.Pair(tools="my_hermes")
    assert mine.parse(OUTPUT, tools=TOOLS).tool_calls[0].name == "tide"
    assert repr(pickle.loads(pickle.dumps(mine))) == repr(mine)
    own.write_text("names = 3")
    with pytest.raises(unspool.Error) as caught:
        unspool.add_formats(own)
    assert caught.value.kind == "bad_format"
    with pytest.raises(unspool.Error):
        unspool.add_formats(tmp_path / "none.toml")


def test_a_checkpoint_tells_its_format(tmp_path: Path) -> None:
    template = '{% for t in tools %}{% endfor %}{{- \'<tool_call>\\n{"name": \' }}'
    vocabulary = unspool.Vocabulary({"<tool_call>": 5, "<think>": 1, "</think>": 2}, model_type="qwen3", template=template)
    found = unspool.detect(vocabulary)
    assert found.tools == "hermes", found.tools_why
    assert unspool.detect({}).reasoning is None and unspool.detect({}).reasoning_why
    with pytest.raises(unspool.Error) as caught:
        unspool.detect(tmp_path / "none")
    assert caught.value.kind == "bad_checkpoint"


def test_a_reply_begins_where_the_caller_says() -> None:
    made = unspool.Pair("deepseek_r1", "hermes")
    assert made.parse("Hm.</think>Noon.").reasoning == "Hm."
    assert made.parse("Noon.", start="content").content == "Noon."
    assert made.parse("Hm.</think>Noon.", start="reasoning").reasoning == "Hm."
    assert made.parser(start="reasoning").is_thinking and made.gate(start="content").ended
    for wrong in ({"start": "answer"}, {"start": "content", "prompt": "<think>"}):
        with pytest.raises(unspool.Error) as caught:
            made.parser(**wrong)  # type: ignore[arg-type]
        assert caught.value.place == "start"


def test_calls_may_be_wanted_without_tools_and_a_request_may_come_late() -> None:
    assert pair().parse(OUTPUT).tool_calls == []
    assert pair().parse(OUTPUT, request={"calls_wanted": True}).tool_calls[0].name == "tide"
    parser = pair().parser()
    parser.push(OUTPUT[:50])
    parser.set_request(tools=TOOLS)
    parser.push(OUTPUT[50:])
    assert parser.finish().message.tool_calls[0].name == "tide"
    with pytest.raises(unspool.Error) as caught:
        parser.set_request(tools=TOOLS)
    assert caught.value.kind == "request" and caught.value.hint


def test_ids_have_the_shape_that_is_asked_for() -> None:
    def id(call_ids: int | str | None) -> str:
        return pair(call_ids=call_ids).parse(OUTPUT, tools=TOOLS, request={"calls_before": 4}).tool_calls[0].id

    assert id("functions.{name}:{index}") == "functions.tide:4"
    assert len(id(9)) == 9 and id("") == "" and id(None).startswith("chatcmpl-tool-")
    with pytest.raises(unspool.Error) as caught:
        id("something")
    assert caught.value.place == "call_ids"


def test_one_half_passes_on_what_it_does_not_read() -> None:
    text = (
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.tide "
        '<|constrain|>json<|message|>{"harbour": "Looe"}<|call|>'
    )
    thought = unspool.Pair("openai_gptoss", raw_rest=True).parse(text)
    assert thought.reasoning == "Hm." and thought.content.endswith('<|message|>{"harbour": "Looe"}<|call|>')
    call = unspool.Pair(None, "openai", raw_rest=True).parse(thought.content, tools=TOOLS, start="content").tool_calls[0]
    assert (call.name, json.loads(call.arguments)) == ("tide", {"harbour": "Looe"})


def test_questions_about_ids() -> None:
    made = pair(vocabulary={"<think>": 1, "</think>": 2, "<tool_call>": 3})
    assert made.reasoning_end_ids() == ({2}, {3})
    assert made.is_reasoning_end([1, 7, 2, 7]) and made.is_reasoning_end([1, 7, 3]) and not made.is_reasoning_end([1, 7])
    assert made.content_ids([7, 2, 8, 9]) == [8, 9] and made.content_ids([7, 3]) == [3] and made.content_ids([7]) == []
    assert made.count_reasoning_tokens([7, 8, 2, 9], start="reasoning") == 2
    gate = made.gate()
    gate.advance([7, 2])
    assert gate.ended_in_step
    gate.advance([7])
    assert gate.ended and not gate.ended_in_step


def test_one_tool_is_a_list_of_one() -> None:
    for one in (TOOLS[0], {"name": "tide", "inputSchema": {"type": "object"}}, {"name": "tide", "input_schema": {}}):
        assert pair().parse(OUTPUT, tools=one).tool_calls[0].name == "tide"


def test_what_acts_like_a_tokenizer_is_asked_for_its_vocabulary() -> None:
    class Slow:
        """A tokenizer without a `tokenizer.json`, with every other attribute that one may ask for."""

        def get_vocab(self) -> dict[str, int]:
            return {"<think>": 1, "</think>": 2}

        def __fspath__(self) -> str:
            return "/nowhere"

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            return lambda *_: self

    made = pair(vocabulary=Slow())
    assert made.vocabulary is not None and made.vocabulary.special == {"<think>": 1, "</think>": 2}
    assert made.parser().push("<think>Hm.</think>", [1, 7, 2])[0].text == "Hm."


def test_a_chat_template_that_is_set_later_counts() -> None:
    class Tokenizer:
        init_kwargs = {"chat_template": "{{ messages }}"}
        chat_template = "[gMASK]<sop>Reasoning Effort:<tool_call><arg_key><arg_value>"

        def get_vocab(self) -> dict[str, int]:
            return {"<think>": 1, "</think>": 2}

    off = {"chat_template_kwargs": {"enable_thinking": False}}
    # This template has no switch: it thinks whatever is asked.
    assert unspool.Pair("glm45", vocabulary=Tokenizer()).parse("Hm.</think>Noon.", request=off).reasoning == "Hm."
    Tokenizer.chat_template = "{{ messages }}{% if enable_thinking %}{% endif %}"
    assert unspool.Pair("glm45", vocabulary=Tokenizer()).parse("Noon.", request=off).content == "Noon."


def test_numbers_beyond_64_bits_are_taken() -> None:
    endless = {"model_max_length": int(1e30), "added": [2**64]}

    class Tokenizer:
        init_kwargs = endless

        def get_vocab(self) -> dict[str, int]:
            return {"<think>": 1, "</think>": 2}

    for options in ({"vocabulary": Tokenizer()}, {"tokenizer_config": endless}):
        assert pair(**options).parse(OUTPUT, tools=TOOLS).tool_calls[0].name == "tide"
    schema = {"name": "tide", "parameters": {"properties": {"harbour": {"maximum": 10**30}}}}
    assert pair().parse(OUTPUT, tools=[schema]).tool_calls[0].name == "tide"
