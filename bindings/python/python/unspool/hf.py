"""Hugging Face ``response_template``s of unspool's formats, for ``tokenizer.parse_response`` of ``transformers`` (5.19+)::

    tokenizer.response_template = unspool.hf.response_template("qwen3", "hermes", start_anchor="<|im_start|>assistant\\n")

A template is derived from the text that the format writes around reasoning, a name and arguments. It is then verified: it
must parse messages that the format renders back to the same messages, or no template is returned.
"""

from __future__ import annotations

import json
import re
from typing import Any

from . import Message, Pair, ToolCall, detect
from ._error import Error

_NAME, _KEYS, _VALUES = "zqname", ("zqkeya", "zqkeyb"), ("zqone", "zqtwo")
_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {key: {"type": "string"} for key in _KEYS}},
        },
    }
    for name in (_NAME, "zqother")
]


def response_template(
    reasoning: str | None = None, tools: str | None = None, *, tokenizer: Any = None, start_anchor: str | None = None
) -> dict[str, Any]:
    """The response template of a pair of formats, or of the pair detected from a ``transformers`` tokenizer's files.

    ``start_anchor`` is the text that begins the assistant's turn in a prompt; a tokenizer's chat template provides it. An
    ``Error`` of kind ``unsure`` says why a response template cannot express the format.
    """
    if reasoning is None and tools is None and tokenizer is not None:
        found = detect(tokenizer)
        reasoning, tools = found.reasoning, found.tools
    if start_anchor is None:
        start_anchor = _anchor(tokenizer)
    pair = Pair(reasoning, tools)
    fields: dict[str, Any] = {"content": {"content": "text"}}
    if reasoning is not None:
        fields["thinking"] = _thinking(pair)
    if tools is not None:
        fields["tool_calls"] = _calls(pair)
    template = {"version": 1, "defaults": {"role": "assistant"}, "start_anchor": start_anchor, "fields": fields}
    _hold(pair, template)
    return template


def _refused(why: str) -> Error:
    return Error(
        f"a response template cannot express this format: {why}",
        "unsure",
        "parse with `unspool.Pair`; for TRL `unspool.rl.trl.attach` puts it in the place of `parse_response`",
    )


def _anchor(tokenizer: Any) -> str:
    """The text that the chat template adds for the assistant's turn, up to reasoning that it opens or closes."""
    apply = getattr(tokenizer, "apply_chat_template", None)
    if apply is None or not getattr(tokenizer, "chat_template", None):
        raise Error(
            "where the assistant's turn begins is not known",
            "argument",
            'give start_anchor="<|im_start|>assistant\\n" or the like, or a tokenizer with a chat template',
            "start_anchor",
        )
    asked = [{"role": "user", "content": "?"}]
    without, with_turn = (apply(asked, add_generation_prompt=turn, tokenize=False) for turn in (False, True))
    turn = with_turn[len(without) :] if with_turn.startswith(without) else with_turn[-64:]
    header = re.match(r"\s*\S.*?(?=<think|\[THINK|\n|$)\n?", turn, re.DOTALL)
    return header.group() if header else str(turn)


def _thinking(pair: Pair) -> dict[str, Any]:
    markers = pair.reasoning_markers
    if markers is None:
        raise _refused("a thought has no literal that opens it and none that closes it")
    return {"open": markers[0].strip(), "close": markers[1].strip(), "content": "text"}


def _written(pair: Pair, *calls: ToolCall) -> str:
    try:
        return pair.render(Message(tool_calls=list(calls)), tools=_TOOLS)
    except Error as error:
        raise _refused(f"it cannot write a plain call ({error.message})") from error


def _calls(pair: Pair) -> dict[str, Any]:
    """The region of one call, from the text that the format writes around its name and arguments."""
    pair = Pair(None, pair.tools)
    arguments = json.dumps(dict(zip(_KEYS, _VALUES)))
    one = _written(pair, ToolCall("zqid", _NAME, arguments))
    if _NAME not in one:
        raise _refused("the name of the function does not stand in the text")
    region = _enveloped(one) or _headed(one, arguments) or _tagged(one)
    if region is None:
        raise _refused("arguments are neither JSON nor flat tags")
    return region | {"repeats": True}


def _function(name: str, arguments: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def _edges(before: str, behind: str) -> dict[str, Any]:
    """Opener and closer, without the white space of templates around a body."""
    if not before.strip() or not behind.strip():
        raise _refused("nothing closes a call" if before.strip() else "nothing opens a call")
    return {"open": before.strip(), "close": behind.strip()}


def _enveloped(text: str) -> dict[str, Any] | None:
    """A JSON object that holds name and arguments."""
    for at in (match.start() for match in re.finditer(r"[{]", text)):
        try:
            value, end = json.JSONDecoder().raw_decode(text, at)
        except ValueError:
            continue
        if isinstance(value, dict) and _NAME in value.values():
            (name,) = (key for key, one in value.items() if one == _NAME)
            held = [key for key, one in value.items() if isinstance(one, dict) and set(one) == set(_KEYS)]
            if len(held) == 1:
                transform = _function(f"{{content.{name}}}", f"{{content.{held[0]}}}")
                return _edges(text[:at], text[end:]) | {"content": "json", "transform": transform}
    return None


def _pattern(text: str) -> str:
    """A literal as a pattern with any white space at its edges."""
    inner = re.escape(text.strip())
    return rf"\s*{inner}\s*"


def _headed(text: str, arguments: str) -> dict[str, Any] | None:
    """The name in the header, followed by JSON."""
    at = text.find(arguments)
    if at < 0 or text.find(_NAME) > at:
        return None
    before, between = text[:at].split(_NAME, 1)
    behind = text[at + len(arguments) :]
    if not behind.strip() or "zqid" in text:
        raise _refused("nothing closes a call" if not behind.strip() else "a call's id stands in its header")
    if not between.strip():
        raise _refused("nothing stands between the name and its arguments")
    return {
        "open_pattern": rf"{_pattern(before)}(?P<name>[^\s<>{{}}|]+?){_pattern(between)}(?=[{{])",
        "close": behind.strip(),
        "content": "json",
        "transform": _function("{name}", "{content}"),
    }


def _tagged(text: str) -> dict[str, Any] | None:
    """Flat tags with a key and a value each."""
    if any(mark not in text for mark in (*_KEYS, *_VALUES)) or "zqid" in text:
        return None
    head, rest = text.split(_NAME, 1)
    opener, rest = rest.split(_KEYS[0], 1)
    middle, rest = rest.split(_VALUES[0], 1)
    seam, rest = rest.split(_KEYS[1], 1)
    closer = rest.split(_VALUES[1], 1)[1]
    # The tag's opener precedes each key: their longest common suffix.
    size = next((n for n in range(len(seam), 0, -1) if opener.endswith(seam[-n:]) and seam[-n:].lstrip().startswith(("<", "["))), 0)
    if not size:
        return None
    tag, value_end = seam[-size:], seam[:-size]
    if not value_end.strip() or not closer.startswith(value_end.rstrip()):
        return None
    between, behind = opener[:-size], closer[len(value_end.rstrip()) :]
    if not behind.strip():
        raise _refused("nothing closes a call")
    value = r"(?P<value>.*?)"
    pattern = f"{re.escape(tag.strip())}(?P<key>.*?){re.escape(middle.rstrip())}\\n?{value}\\n?{re.escape(value_end.strip())}"
    return {
        "open_pattern": rf"{_pattern(head)}(?P<name>[^\s<>]+?){_pattern(between) if between.strip() else chr(92) + 's*'}(?={re.escape(tag.strip())}|{re.escape(behind.strip())})",
        "close": behind.strip(),
        "content": "xml-inline",
        "content_args": {"tag_pattern": pattern},
        "transform": _function("{name}", "{content}"),
    }


def _hold(pair: Pair, template: dict[str, Any]) -> None:
    """Whether the template alone parses rendered messages back to the same messages."""
    halves = ("hf" if pair.reasoning else None, "hf" if pair.tools else None)
    try:
        reader = Pair(*halves, tokenizer_config={"response_template": template})
    except Error as error:
        raise _refused(error.message) from error
    first = ToolCall("", _NAME, json.dumps({_KEYS[0]: "Looe, east", _KEYS[1]: "two\nlines"}))
    second = ToolCall("", "zqother", json.dumps({_KEYS[1]: "x"}))
    messages = [Message("", "Noon.")]
    if pair.reasoning:
        messages.append(Message("Hm.\nSo.", "Noon."))
    if pair.tools:
        thoughts = ["", "Hm.\nSo."] if pair.reasoning else [""]
        messages += [Message(thought, "", calls) for thought in thoughts for calls in ([first], [first, second])]
    for message in messages:
        try:
            text = pair.render(message, tools=_TOOLS)
        except Error as error:
            raise _refused(f"it cannot write a plain message ({error.message})") from error
        again = reader.parse(text, tools=_TOOLS, start=None if pair.reasoning else "content")
        if _said(again) != _said(message):
            raise _refused(f"the closest template parses {text!r} differently")


def _said(message: Message) -> tuple[str, str, list[tuple[str, Any]]]:
    calls = [(call.name, json.loads(call.arguments or "null")) for call in message.tool_calls]
    return message.reasoning.strip(), message.content.strip(), calls
