"""The adapters for verl and TRL, against the real packages."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest

pytest.importorskip("tokenizers", reason="the adapters are NOT TESTED: there are no tokenizers here")
transformers = pytest.importorskip("transformers", reason="the adapters are NOT TESTED: there is no transformers here")

from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # noqa: E402

TOOL = {"type": "function", "function": {"name": "tide", "description": "d", "parameters": {"type": "object", "properties": {"harbour": {"type": "string"}, "days": {"type": "integer"}}, "required": ["harbour"]}}}
CALL = '<tool_call>\n{"name": "tide", "arguments": {"harbour": "Löoe", "days": 3}}\n</tool_call>'


@pytest.fixture
def tokenizer() -> Any:
    """Bytes, and four special tokens."""
    vocab = {text: id for id, text in enumerate(pre_tokenizers.ByteLevel.alphabet())}
    core = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_tokens(["<think>", "</think>", "<tool_call>", "</tool_call>"])
    core.add_special_tokens(["<|im_end|>"])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|im_end|>")


def ids_of(tokenizer: Any, text: str) -> list[int]:
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def test_verl(tokenizer: Any) -> None:
    tool_parser = pytest.importorskip("verl.experimental.agent_loop.tool_parser", reason="verl is NOT TESTED: it is not here")
    from verl.tools.schemas import OpenAIFunctionToolSchema

    import unspool.rl.verl as adapter

    schema = OpenAIFunctionToolSchema(**TOOL)
    ids = ids_of(tokenizer, f"Look: {CALL}<|im_end|>")
    parser = tool_parser.ToolParser.get_tool_parser("unspool_hermes", tokenizer)
    content, calls = asyncio.run(parser.extract_tool_calls(ids, [schema]))
    assert content.strip() == "Look:" and [(call.name, call.arguments) for call in calls] == [("tide", '{"harbour": "Löoe", "days": 3}')]
    own_content, own = asyncio.run(tool_parser.ToolParser.get_tool_parser("hermes", tokenizer).extract_tool_calls(ids, [schema]))
    assert [(call.name, call.arguments) for call in own] == [(call.name, call.arguments) for call in calls]

    adapter.register("qwen3_hermes", reasoning="qwen3", tools="hermes")
    thinker = tool_parser.ToolParser.get_tool_parser("qwen3_hermes", tokenizer)
    content, calls = asyncio.run(thinker.extract_tool_calls(ids_of(tokenizer, f"<think>Hm.</think>{CALL}{CALL[:-30]}"), None))
    assert (content, [call.name for call in calls]) == ("", ["tide"])


def test_trl(tokenizer: Any) -> None:
    utils = pytest.importorskip("trl.chat_template_utils", reason="TRL is NOT TESTED: it is not here")
    import unspool.rl.trl as adapter

    parse = adapter.attach(tokenizer, reasoning="qwen3", tools="hermes")
    prefix = ids_of(tokenizer, "<think>\n")
    ids = ids_of(tokenizer, f"Hm.</think>Look. {CALL}<|im_end|>")
    said = utils.parse_response(tokenizer, ids, prefix=prefix, tools=[TOOL])
    arguments = {"harbour": "Löoe", "days": 3}
    assert said == {
        "role": "assistant",
        "content": "Look.",
        "reasoning_content": "Hm.",
        "tool_calls": [{"type": "function", "function": {"name": "tide", "arguments": arguments}}],
    }
    cut = utils.parse_response(tokenizer, ids_of(tokenizer, CALL[:-30]), prefix=prefix, tools=[TOOL])
    assert "tool_calls" not in cut, "a call that is cut off is text"
    again = pickle.loads(pickle.dumps(parse))
    assert again(ids, prefix=prefix, tools=[TOOL]) == parse(ids, prefix=prefix, tools=[TOOL])
