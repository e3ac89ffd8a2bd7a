"""Response templates from formats. `tests/rl` holds them to transformers itself."""

from __future__ import annotations

import json

import pytest

import unspool
from unspool.hf import response_template

TOOLS = [
    {
        "type": "function",
        "function": {"name": "tide", "parameters": {"type": "object", "properties": {"port": {"type": "string"}}}},
    }
]


@pytest.mark.parametrize("names", [("qwen3", "hermes"), ("qwen3", "qwen3_coder"), ("glm45", "glm45"), (None, "internlm")])
def test_a_template_reads_as_its_format(names: tuple[str | None, str]) -> None:
    template = response_template(*names, start_anchor="<|im_start|>assistant\n")
    reader = unspool.Pair("hf" if names[0] else None, "hf", tokenizer_config={"response_template": template})
    pair = unspool.Pair(*names)
    call = unspool.ToolCall("", "tide", '{"port": "Looe"}')
    thought = {"reasoning": "Which port?"} if names[0] else {}
    text = pair.render(unspool.Message(tool_calls=[call, call], **thought), tools=TOOLS)  # type: ignore[arg-type]
    again = reader.parse(text, tools=TOOLS)
    assert [(one.name, json.loads(one.arguments)) for one in again.tool_calls] == [("tide", {"port": "Looe"})] * 2
    assert again.reasoning.strip() == ("Which port?" if names[0] else "")


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (("openai_gptoss", None), "no literal"),
        ((None, "llama3_json"), "nothing opens a call"),
        ((None, "mistral"), "nothing closes a call"),
        ((None, "gemma4"), "neither JSON nor flat tags"),
        ((None, "kimi_k2"), "differently"),
    ],
)
def test_a_format_that_cannot_be_said_says_why(names: tuple[str | None, str | None], why: str) -> None:
    with pytest.raises(unspool.Error) as caught:
        response_template(*names, start_anchor="<|im_start|>assistant\n")
    assert caught.value.kind == "unsure" and why in caught.value.message and caught.value.hint


def test_the_turn_is_found_or_asked_for() -> None:
    with pytest.raises(unspool.Error) as caught:
        response_template("qwen3", "hermes")
    assert caught.value.place == "start_anchor"

    class Tokenizer:
        chat_template = "a template"

        def apply_chat_template(self, messages: object, *, add_generation_prompt: bool, tokenize: bool) -> str:
            return "<|im_start|>user\n?<|im_end|>\n" + ("<|im_start|>assistant\n<think>\n" if add_generation_prompt else "")

    assert response_template("qwen3", "hermes", tokenizer=Tokenizer())["start_anchor"] == "<|im_start|>assistant\n"
