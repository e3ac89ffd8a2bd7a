"""Every case of the corpus through vLLM's parsers: whole and streamed, on the unified path."""

from __future__ import annotations

from typing import Any, Callable

import pytest
from cases import CASES, Answer, Case
from harness import Served

import unspool
from vllm.exceptions import VLLMValidationError

#: What comes out here depends on whether the output was cut off, which vLLM does not tell its parsers.
UNTOLD = {"hermes/closer-inside-a-key"}

ALL = pytest.mark.parametrize("case", [case for case in CASES if case.id not in UNTOLD], ids=lambda case: case.id)


def check(case: Case, run: Callable[[Served], Answer]) -> None:
    served = None
    answer: Any
    try:
        served = Served(case)
        answer = run(served)
    except (unspool.Error, VLLMValidationError) as error:
        answer = error if isinstance(error, unspool.Error) else unspool.Error(str(error), "request")
    finally:
        if served is not None:
            served.tokenizer.close()
    found = case.differences(answer, with_ids=bool(case.tokens))
    assert not found, f"{found}\n{case.fields.get('note')}"


@ALL
def test_whole(case: Case) -> None:
    check(case, Served.whole)


@ALL
@pytest.mark.parametrize("size", [1, 5, 10_000])
def test_streamed(case: Case, size: int) -> None:
    check(case, lambda served: served.streamed(size))
