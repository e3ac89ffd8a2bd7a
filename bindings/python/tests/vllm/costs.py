"""CPU per streamed token through vLLM's contract, beside vLLM's own classes in the same run.

Not a test: `target/tmp/vllm/bin/python tests/vllm/costs.py` prints a table.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

from test_mixed import TOOLS, Tokenizer  # noqa: E402
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest  # noqa: E402
from vllm.parser.parser_manager import ParserManager  # noqa: E402


def spent(reasoning: str, tools: str, deltas: list[tuple[str, list[int]]], tokenizer: Tokenizer, prompt: list[int]) -> float:
    """Seconds of CPU for one reply."""
    request = ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "?"}], tools=TOOLS)
    made: Any = ParserManager.get_parser(
        tool_parser_name=tools, reasoning_parser_name=reasoning, enable_auto_tools=True, model_name="m", is_harmony=False
    )
    parser = made(tokenizer, request.tools, chat_template_kwargs={})
    started = time.process_time()
    for number, (text, ids) in enumerate(deltas):
        parser.parse_delta(text, ids, request, prompt, finished=number + 1 == len(deltas))
    return time.process_time() - started


def main() -> None:
    tokenizer = Tokenizer()
    prompt = tokenizer.encode("<think>")
    print("| pair | reply | tokens | unspool, µs a token | vLLM, µs a token | times |\n|---|---|---|---|---|---|")
    for size in (200, 2_000, 16_000):
        text = "x" * (size - 1)
        arguments = json.dumps({"harbour": "x" * size})
        shapes = {
            "thought": text + "</think>",
            "content": "</think>" + text,
            "call": f'</think><tool_call>\n{{"name": "tide", "arguments": {arguments}}}\n</tool_call>',
        }
        for shape, output in shapes.items():
            ids = tokenizer.encode(output)
            deltas = [(tokenizer.decode([id]), [id]) for id in ids]
            runs = 3 if size < 16_000 else 1
            best = {}
            for prefix in ("unspool_", ""):
                names = (f"{prefix}deepseek_r1", f"{prefix}hermes")
                best[prefix] = min(spent(*names, deltas, tokenizer, prompt) for _ in range(runs)) / len(ids) * 1e6
            times = best[""] / best["unspool_"]
            print(f"| deepseek_r1, hermes | {shape} | {len(ids)} | {best['unspool_']:.2f} | {best['']:.2f} | {times:.1f} |", flush=True)


if __name__ == "__main__":
    main()
