"""Tests against the real vLLM. They need an environment that has it (`bindings/python/test --vllm` makes one)."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

HAS_VLLM = importlib.util.find_spec("vllm") is not None


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if HAS_VLLM or collection_path.name == "conftest.py":
        return None
    if os.environ.get("UNSPOOL_TEST_VLLM") == "1":
        raise pytest.UsageError("UNSPOOL_TEST_VLLM=1, but there is no vLLM in this environment")
    return True


def pytest_report_header() -> str:
    if HAS_VLLM:
        return "vLLM: found, its contract is tested"
    return "vLLM: NOT TESTED, it is not in this environment (bindings/python/test --vllm makes one that has it)"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not HAS_VLLM:
        terminalreporter.write_line("SKIPPED: tests/vllm, because this environment has no vLLM", yellow=True)
