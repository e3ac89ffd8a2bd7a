"""Converts tokenizers, directories and dicts to a :class:`Vocabulary`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from ._error import Error
from ._unspool import Vocabulary


def of(source: Any) -> Vocabulary:
    """The vocabulary of a directory, a ``{text: id}``, or a tokenizer of ``tokenizers`` or ``transformers``."""
    if isinstance(source, Vocabulary):
        return source
    is_tokenizer = hasattr(source, "get_vocab")
    if isinstance(source, (str, os.PathLike)) and not is_tokenizer:
        return Vocabulary.from_folder(os.fspath(source))
    if isinstance(source, Mapping):
        return Vocabulary(special=dict(source))
    if (whole := _json(source)) is not None:
        return Vocabulary.from_tokenizer_json(whole)
    if (whole := _json(getattr(source, "backend_tokenizer", None))) is not None:
        return _of_fast(source, whole)
    if is_tokenizer:
        return _of_slow(source)
    raise Error(
        f"a {type(source).__name__} is no vocabulary",
        "argument",
        "give a tokenizer, a dict {text: id}, or the path of a checkpoint's folder",
        "vocabulary",
    )


def template_of(tokenizer: Any) -> str | None:
    """The chat template for requests with tools."""
    template = getattr(tokenizer, "chat_template", None)
    if isinstance(template, Mapping):
        template = template.get("tool_use") or template.get("default")
    return template if isinstance(template, str) else None


def config_of(tokenizer: Any) -> dict[str, Any] | None:
    """The part of ``tokenizer_config.json`` that a ``transformers`` tokenizer retains, as far as it is JSON."""
    kept = getattr(tokenizer, "init_kwargs", None)
    config: dict[str, Any] = {}
    for key, value in dict(kept if isinstance(kept, Mapping) else {}).items():
        try:
            config[str(key)] = json.loads(json.dumps(value), parse_int=_number)
        except (TypeError, ValueError):
            continue
    if (template := template_of(tokenizer)) is not None:
        # It may have been set since the files were read.
        config["chat_template"] = template
    for key in ("response_template", "response_schema"):
        value = getattr(tokenizer, key, None)
        if isinstance(value, (Mapping, list, str)):
            config.setdefault(key, value)
    return config or None


def _json(tokenizer: Any) -> str | None:
    """The ``tokenizer.json`` of a tokenizer of ``tokenizers``; None for everything else, including lookalikes."""
    to_str = getattr(tokenizer, "to_str", None)
    whole = to_str() if callable(to_str) else None
    return whole if isinstance(whole, str) else None


def _number(text: str) -> int | float:
    """A whole number; beyond 64 bits (the `model_max_length` of many tokenizers) a float."""
    number = int(text)
    return number if -(2**63) <= number < 2**63 else float(number)


def _of_fast(tokenizer: Any, whole: str) -> Vocabulary:
    return Vocabulary.from_tokenizer_json(
        whole, tokenizer_config=config_of(tokenizer), template=template_of(tokenizer)
    )


def _of_slow(tokenizer: Any) -> Vocabulary:
    """A tokenizer without a ``tokenizer.json``: only its added tokens are known, not the bytes of the others."""
    added = _added(tokenizer)
    hidden = [text for text in _strings(getattr(tokenizer, "all_special_tokens", None)) if text in added]
    return Vocabulary(
        special=added, hidden=hidden, tokenizer_config=config_of(tokenizer), template=template_of(tokenizer)
    )


def _added(tokenizer: Any) -> dict[str, int]:
    added = getattr(tokenizer, "get_added_vocab", None)
    known = added() if callable(added) else None
    if isinstance(known, Mapping) and known:
        return {str(text): int(id) for text, id in known.items()}
    vocab = tokenizer.get_vocab()
    if not isinstance(vocab, Mapping):
        return {}
    return {text: id for text, id in vocab.items() if isinstance(text, str) and isinstance(id, int)}


def _strings(values: Any) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, (list, tuple)) else []
