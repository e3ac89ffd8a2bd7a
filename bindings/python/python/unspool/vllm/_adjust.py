"""A pair's changes to vLLM's request: special tokens in the text, and a grammar for calls."""

from __future__ import annotations

import json
import os
from typing import Any

from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams

from .. import Pair
from .._error import Error
from .._serving import told

#: Names of vLLM's strict levels by number.
_LEVELS = ("auto", "function", "parameter")


def keep_special_tokens(pair: Pair, request: Any, fields: dict[str, Any]) -> None:
    """Keeps markers that are special tokens in the text."""
    if not pair.needs_special_tokens(fields):
        return
    request.skip_special_tokens = False
    if hasattr(request, "spaces_between_special_tokens"):
        request.spaces_between_special_tokens = False


def constrain_calls(pair: Pair, request: Any, fields: dict[str, Any], strict_level: Any = None) -> None:
    """Adds the structural tag of its calls to the request, if the request or the server wants one."""
    choice = fields.get("tool_choice")
    if not fields.get("tools") or choice is None or choice == "none" or os.environ.get(_ENFORCE, "1") == "0":
        return
    outputs = _outputs(request)
    if outputs is not None and getattr(outputs, "structural_tag", None) is not None:
        return
    asked = dict(fields)
    if outputs is not None and choice == "auto":
        answer = _answer(outputs)
        if answer is None:
            # Our grammars cannot express it; it stays in effect, and calls are unconstrained.
            return
        asked["structured_outputs"] = answer
    try:
        grammar = pair.grammar(asked, strict_level=_LEVELS[int(strict_level or 0)])  # type: ignore[arg-type]
    except Error as error:
        raise VLLMValidationError(told(error)) from error
    if grammar is None:
        return
    request.structured_outputs = StructuredOutputsParams(structural_tag=json.dumps(grammar.structural_tag()))
    for field in ("response_format", "text"):
        if field in type(request).model_fields:
            setattr(request, field, None)


_ENFORCE = "VLLM_ENFORCE_STRICT_TOOL_CALLING"


def _outputs(request: Any) -> Any:
    """The structured output that the request asks for."""
    extract = getattr(request, "extract_structured_outputs", None)
    return extract() if callable(extract) else getattr(request, "structured_outputs", None)


def _answer(outputs: Any) -> dict[str, Any] | None:
    """The structured output as a schema; None if it is not one."""
    if outputs.json_object:
        return {"json_object": True}
    if outputs.json is None:
        return None
    return {"json": json.loads(outputs.json) if isinstance(outputs.json, str) else outputs.json}
