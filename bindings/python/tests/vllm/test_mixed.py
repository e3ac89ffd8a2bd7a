"""One half of ours beside a half of vLLM's own: the delegating path."""

from __future__ import annotations

import json
from typing import Any

import pytest
import unspool.vllm as plugin
from unspool import Vocabulary, _serving
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.parser.parser_manager import ParserManager

plugin.register()

SPECIAL = {"<think>": 1, "</think>": 2, "<tool_call>": 3, "</tool_call>": 4}
TOOLS = [{"type": "function", "function": {"name": "tide", "parameters": {"type": "object", "properties": {"harbour": {"type": "string"}}}}}]
CALL = '<tool_call>\n{"name": "tide", "arguments": {"harbour": "Looe"}}\n</tool_call>'


class Tokenizer:
    """Special tokens, and one token for each other character."""

    def __init__(self) -> None:
        self.vocab = SPECIAL | {chr(code): 100 + code for code in range(256)}
        table = {id: text.encode() for text, id in self.vocab.items()}
        self.texts = {id: text for text, id in self.vocab.items()}
        _serving._vocabularies[id(self)] = Vocabulary(SPECIAL, [], table)

    def __del__(self) -> None:
        _serving._forget(id(self))

    def get_vocab(self) -> dict[str, int]:
        return self.vocab

    def encode(self, text: str, **_: Any) -> list[int]:
        ids = []
        while text:
            piece = next((special for special in SPECIAL if text.startswith(special)), text[0])
            ids.append(self.vocab[piece])
            text = text[len(piece) :]
        return ids

    def decode(self, ids: list[int], **_: Any) -> str:
        return "".join(self.texts[id] for id in ids)


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize(
    ("reasoning", "tools"),
    [("unspool_qwen3", "hermes"), ("qwen3", "unspool_hermes"), ("unspool_deepseek_r1", "hermes"), ("unspool_qwen3", "unspool_hermes")],
)
def test_halves_of_two_houses(reasoning: str, tools: str, size: int) -> None:
    tokenizer = Tokenizer()
    request = ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "?"}], tools=TOOLS)
    made = ParserManager.get_parser(
        tool_parser_name=tools, reasoning_parser_name=reasoning, enable_auto_tools=True, model_name="m", is_harmony=False
    )
    parser = made(tokenizer, request.tools, chat_template_kwargs={})
    ids = tokenizer.encode(f"Which harbour?</think>Let me look.{CALL}")
    prompt = tokenizer.encode("<think>")
    thought, content, calls = "", "", ["", ""]
    for at in range(0, len(ids), size):
        step = ids[at : at + size]
        delta = parser.parse_delta(tokenizer.decode(step), step, request, prompt, finished=at + size >= len(ids))
        if delta is None:
            continue
        thought += delta.reasoning or ""
        content += delta.content or ""
        for call in delta.tool_calls or []:
            assert call.index == 0
            calls[0] += call.function.name or ""
            calls[1] += call.function.arguments or ""
    assert (thought, content.strip(), calls[0]) == ("Which harbour?", "Let me look.", "tide")
    assert json.loads(calls[1]) == {"harbour": "Looe"}


def test_an_error_at_the_start_names_flag_token_and_model() -> None:
    tokenizer = Tokenizer()
    made = ParserManager.get_parser(
        tool_parser_name=None, reasoning_parser_name="unspool_deepseek_r1", enable_auto_tools=False, model_name="m/odd", is_harmony=False
    )
    config = type("Config", (), {"model": "m/odd", "hf_config": None, "hf_text_config": None, "hf_overrides": None})()
    _serving._vocabularies[id(tokenizer)] = Vocabulary({"a": 1}, [], {1: b"a"})
    with pytest.raises(ValueError, match="--reasoning-parser") as caught:
        made(tokenizer, None, chat_template_kwargs={}, model_config=config)
    assert "m/odd" in str(caught.value) and "</think>" in str(caught.value)
