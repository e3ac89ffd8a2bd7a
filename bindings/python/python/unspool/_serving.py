"""Converts a server's tokenizers and requests to pairs and request fields. Stores nothing per request."""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from . import Pair, Vocabulary
from ._error import Error
from ._vocabulary import of as vocabulary_of

_lock = threading.Lock()
_vocabularies: dict[int, Vocabulary] = {}
_pairs: dict[tuple[Any, ...], Pair] = {}


def vocabulary(tokenizer: Any) -> Vocabulary:
    """The vocabulary of a tokenizer, read once per tokenizer."""
    key = id(tokenizer)
    known = _vocabularies.get(key)
    if known is None:
        with _lock:
            known = _vocabularies.get(key)
            if known is None:
                known = vocabulary_of(tokenizer)
                try:
                    weakref.finalize(tokenizer, _forget, key)
                except TypeError:
                    return known
                _vocabularies[key] = known
    return known


def _forget(key: int) -> None:
    _vocabularies.pop(key, None)
    for pair in [pair for pair in _pairs if pair[2] == key]:
        _pairs.pop(pair, None)


def pair(
    reasoning: str | None,
    tools: str | None,
    tokenizer: Any,
    model_config: Any = None,
    *,
    call_ids: int | str | None = None,
    raw_rest: bool = False,
) -> Pair:
    """The compiled pair, created once per tokenizer. Checks the vocabulary at start-up."""
    model_type = _model_type(model_config)
    incomplete: Any = os.environ.get("UNSPOOL_INCOMPLETE_CALLS") or "stream"
    key = (reasoning, tools, id(tokenizer), model_type, incomplete, call_ids, raw_rest)
    known = _pairs.get(key)
    if known is None:
        model = getattr(model_config, "model", None) or getattr(tokenizer, "name_or_path", None) or "the model"
        known = Pair(
            reasoning,
            tools,
            vocabulary=vocabulary(tokenizer),
            model_type=model_type,
            incomplete_calls=incomplete,
            call_ids=call_ids,
            raw_rest=raw_rest,
            model=_checked(tokenizer, model),
        )
        if id(tokenizer) in _vocabularies:
            _pairs[key] = known
    return known


def _checked(tokenizer: Any, model: Any) -> str | None:
    """The model's name for the check, if the whole vocabulary is known."""
    known = vocabulary(tokenizer)
    return str(model) if known.has_bytes else None


def _model_type(model_config: Any) -> str | None:
    # gpt-oss checkpoints are always parsed as harmony; other types have no effect.
    model_type = getattr(getattr(model_config, "hf_config", None), "model_type", None)
    return model_type if model_type == "gpt_oss" else None


def told(error: Error) -> str:
    """An error with its hint, for callers that show only the text."""
    return f"{error.message}\nhint: {error.hint}" if error.hint else error.message


def fields(request: Any, tools: Iterable[Any] | None, kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields of a Chat or Responses request that a pair reads. `kwargs` are the effective arguments of the chat template."""
    read: dict[str, Any] = {
        "tools": [tool for tool in map(_tool, tools or getattr(request, "tools", None) or ()) if tool is not None],
        "tool_choice": choice(getattr(request, "tool_choice", None)),
    }
    for key in ("parallel_tool_calls", "include_reasoning"):
        value = getattr(request, key, None)
        if isinstance(value, bool):
            read[key] = value
    if kwargs is None:
        kwargs = getattr(request, "chat_template_kwargs", None)
        effort = getattr(request, "reasoning_effort", None)
        if isinstance(effort, str):
            read["reasoning_effort"] = effort
    if isinstance(kwargs, Mapping):
        read["chat_template_kwargs"] = {
            str(key): value for key, value in kwargs.items() if value is not None and _is_json(value)
        }
    return read


def choice(given: Any) -> Any:
    """`tool_choice` as in an OpenAI chat request."""
    if given is None or isinstance(given, str):
        return given
    read = given if isinstance(given, Mapping) else given.model_dump()
    if read.get("type") == "allowed_tools":
        return read.get("mode")
    function = read.get("function") or read
    name = function.get("name")
    return {"type": "function", "function": {"name": name}} if isinstance(name, str) else None


def _tool(tool: Any) -> dict[str, Any] | None:
    """A function tool in the shape of the chat API."""
    read = tool if isinstance(tool, Mapping) else tool.model_dump()
    function = read.get("function") or (read if read.get("type") == "function" else None)
    if function is None or not isinstance(function.get("name"), str):
        return None
    kept = {key: function[key] for key in ("name", "parameters", "strict") if function.get(key) is not None}
    return {"type": "function", "function": kept}


def _is_json(value: Any) -> bool:
    if isinstance(value, (str, bool, int, float)):
        return True
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
