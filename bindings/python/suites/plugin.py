"""A pytest plugin that puts unspool's classes in the place of vLLM's own, for vLLM's own tests.

Patched is vLLM, never a test: the names of the two managers, the classes that tests import, and where tokenizers come from. The
tokenizers are real ones out of packages, or one of these with the special tokens of the model that a test names (`tokenizers.json`).
Each test's outcome, and whether any of our classes was asked in it, goes to the file `UNSPOOL_SUITES_REPORT`.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

#: Whether vLLM's classes stay, to see what a test needs that is not there.
OWN = os.environ.get("UNSPOOL_SUITES_OWN") == "1"
TOKENIZERS = Path(os.environ["UNSPOOL_SUITES_TOKENIZERS"])

asked = False
compared: tuple[object, object] | None = None
results: dict[str, dict[str, Any]] = {}


class NoTokenizer(OSError):
    """The tokenizer that a test wants is in no package."""


def folder(name: str) -> str:
    """Where the tokenizer of a model lies."""
    known: dict[str, str] = json.loads((TOKENIZERS / "tokenizers.json").read_text())
    if os.path.isdir(name):
        return name
    for model, place in known.items():
        if name.lower().startswith(model.lower()):
            return str(TOKENIZERS / place)
    raise NoTokenizer(f"no package has the tokenizer of {name}")


def patch_tokenizers() -> None:
    import transformers
    import vllm.tokenizers
    import vllm.tokenizers.registry

    load = transformers.AutoTokenizer.from_pretrained

    @functools.lru_cache
    def loaded(place: str) -> Any:
        tokenizer = load(place)
        # Each parser asks for it, and it takes most of the time of a test.
        vocabulary, size = tokenizer.get_vocab(), len(tokenizer)
        # A test may add tokens.
        tokenizer.get_vocab = lambda: vocabulary if len(tokenizer) == size else type(tokenizer).get_vocab(tokenizer)
        return tokenizer

    def from_pretrained(name: str, *_: Any, **__: Any) -> Any:
        return loaded(folder(str(name)))

    def get_tokenizer(tokenizer_name: str, *_: Any, tokenizer_mode: str = "auto", **__: Any) -> Any:
        if tokenizer_mode == "mistral":
            raise NoTokenizer(f"no package has the tokenizer of {tokenizer_name}")
        return from_pretrained(tokenizer_name)

    transformers.AutoTokenizer.from_pretrained = from_pretrained
    for module in (vllm.tokenizers, vllm.tokenizers.registry):
        for name in ("get_tokenizer", "cached_get_tokenizer"):
            if hasattr(module, name):
                setattr(module, name, get_tokenizer)
    transformers.GenerationConfig.from_pretrained = lambda name, *_, **__: transformers.GenerationConfig(eos_token_id=loaded(folder(name)).eos_token_id)


def patch_classes() -> None:
    """Ours under vLLM's names, and under the names by which vLLM's modules have theirs."""
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    theirs = {
        manager: dict(manager.lazy_parsers) for manager in (ReasoningParserManager, ToolParserManager)
    }
    os.environ["UNSPOOL_VLLM_REPLACE"] = "1"
    import unspool.vllm

    unspool.vllm.register()
    for manager, names in theirs.items():
        get = manager.get_reasoning_parser if manager is ReasoningParserManager else manager.get_tool_parser
        for name, (module_path, class_name) in names.items():
            if name.startswith(unspool.vllm.PREFIX) or module_path.startswith("unspool."):
                continue
            try:
                module = importlib.import_module(module_path)
                ours = get(name)
            except Exception as error:
                print(f"{name} stays vLLM's: {error}", file=sys.stderr)
                continue
            old = getattr(module, class_name, None)
            if old is None or getattr(old, "__module__", "").startswith("unspool."):
                continue
            _replace(old, ours)


def _replace(old: type, ours: type) -> None:
    """In every module of vLLM that has the class."""
    for name, module in list(sys.modules.items()):
        if name.startswith("vllm.") and getattr(module, old.__name__, None) is old:
            setattr(module, old.__name__, ours)


def watch() -> None:
    """Notes when a class of ours is asked."""
    from unspool.vllm import _compose, _parsers

    for cls in (_parsers.UnspoolReasoningParser, _parsers.UnspoolToolParser, _compose.UnspoolParser):
        for name in [name for name, value in vars(cls).items() if callable(value) and not name.startswith("__")] + ["__init__"]:
            setattr(cls, name, _noted(getattr(cls, name)))


def _noted(method: Any) -> Any:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        global asked
        asked = True
        return method(*args, **kwargs)

    return call


def pytest_configure(config: pytest.Config) -> None:
    patch_tokenizers()
    if not OWN:
        patch_classes()
        watch()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    global asked, compared
    asked, compared = False, None
    yield
    results.setdefault(item.nodeid, {})["asked"] = asked


def pytest_assertrepr_compare(op: str, left: object, right: object) -> None:
    """Keeps the two sides of the comparison that failed."""
    global compared
    if op == "==":
        compared = (left, right)


def _kind(left: object, right: object) -> str:
    """How the two sides of a comparison differ."""
    if all(side is None or side == "" for side in (left, right)):
        return "empty"
    if isinstance(left, str) and isinstance(right, str):
        return "white space" if left.strip() == right.strip() else "text"
    return "value"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = (yield).get_result()
    entry = results.setdefault(item.nodeid, {})
    if report.when == "call" or report.outcome != "passed":
        entry["outcome"] = "xfailed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
        if call.excinfo is not None:
            if call.excinfo.errisinstance(AssertionError) and compared is not None:
                entry["kind"] = _kind(*compared)
                entry["sides"] = [repr(side)[:300] for side in compared]
            entry["error"] = f"{call.excinfo.typename}: {call.excinfo.value}"[:600]
            crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
            entry["line"] = f"{Path(crash.path).name}:{crash.lineno}" if crash else None
        if call.excinfo is not None and _no_tokenizer(call.excinfo.value):
            entry["outcome"] = "no tokenizer"


def _no_tokenizer(error: BaseException | None) -> bool:
    while error is not None:
        # Nothing is fetched: the hub's own error is a tokenizer that was asked for by another door.
        if isinstance(error, NoTokenizer) or "Hugging Face Hub" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        text = str(report.longrepr)
        outcome = "no tokenizer" if "NoTokenizer" in text else "not collected"
        results[report.nodeid] = {"outcome": outcome, "error": text.strip().splitlines()[-1][:600], "asked": False}


def pytest_sessionfinish(session: pytest.Session) -> None:
    with open(os.environ["UNSPOOL_SUITES_REPORT"], "w") as out:
        for nodeid, entry in results.items():
            out.write(json.dumps({"test": nodeid, **entry}) + "\n")
