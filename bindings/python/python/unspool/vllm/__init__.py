"""unspool as a plugin of vLLM (0.32 and 0.33).

Installed in the same environment as vLLM, it registers itself (entry point ``vllm.general_plugins``);
``--tool-parser-plugin unspool.vllm`` and ``--reasoning-parser-plugin unspool.vllm`` do the same. Every format is
available as ``unspool_<name>``::

    vllm serve MODEL --enable-auto-tool-choice --tool-call-parser unspool_hermes --reasoning-parser unspool_qwen3

| environment | meaning |
|---|---|
| ``UNSPOOL_VLLM_REPLACE=1`` | unspool also replaces vLLM's own parsers, under vLLM's names |
| ``UNSPOOL_INCOMPLETE_CALLS`` | how to treat a call that never completes: ``stream`` (the default), ``text`` or ``drop`` |
| ``UNSPOOL_FORMATS=my.toml`` | your own format files (several: separated as in ``PATH``) |
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

from .. import add_formats, formats

PREFIX = "unspool_"

#: Names of the classes in `._parsers`: ``Reasoning_<name>``, ``Tools_<name>``.
_CLASS = {"reasoning": "Reasoning_", "tools": "Tools_"}


def register() -> None:
    """Registers all names with vLLM. May be called several times."""
    try:
        _register()
    except BaseException:
        # vLLM logs and swallows a plugin's exception, and then only reports that the parser's name is unknown.
        print("unspool.vllm cannot be registered with vLLM:", file=sys.stderr)
        traceback.print_exc()
        raise


def _register() -> None:
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    from . import _compose

    own = _own_formats()
    managers = {"reasoning": ReasoningParserManager, "tools": ToolParserManager}
    replace = os.environ.get("UNSPOOL_VLLM_REPLACE") == "1"
    for half, name, _ in formats():
        manager: Any = managers[half]
        names = [PREFIX + name]
        if replace or (half, name) in own:
            names.append(name)
        for shown in names:
            manager.register_lazy_module(shown, "unspool.vllm._parsers", _CLASS[half] + name)
            eager = manager.reasoning_parsers if half == "reasoning" else manager.tool_parsers
            eager.pop(shown, None)
    _compose.install()


def _own_formats() -> set[tuple[str, str]]:
    names: set[tuple[str, str]] = set()
    for path in filter(None, os.environ.get("UNSPOOL_FORMATS", "").split(os.pathsep)):
        names.update(add_formats(path))
    return names


register()
