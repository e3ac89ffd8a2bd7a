"""A case of the corpus as vLLM's server would hand it to a parser."""

from __future__ import annotations

import os
import re
from typing import Any

import unspool
import unspool.vllm as plugin
from cases import Answer, Case
from unspool import _serving
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.parser.parser_manager import ParserManager

#: The first id of the text between the special tokens of a prompt that a case gives as text alone.
PROMPT_ID = 3_000_000


def prompt_of(case: Case) -> list[tuple[int, bytes]]:
    """The prompt as tokens."""
    if case.prompt_tokens:
        return case.prompt_tokens
    tail = case.fields.get("prompt_tail") or ""
    if not tail:
        return []
    parts = re.split("(" + "|".join(map(re.escape, case.special)) + ")", tail) if case.special else [tail]
    return [
        (case.special.get(part, PROMPT_ID + number), part.encode()) for number, part in enumerate(parts) if part
    ]


#: The first id of the tokens that a model has beyond those that a case shows.
OTHER_ID = 4_000_000


def missing_of(case: Case) -> dict[int, bytes]:
    """Special tokens without which vLLM refuses the parser at its start, and that the case does not show: a real model has them."""
    texts: list[str] = []
    try:
        case_pair = unspool.Pair(
            case.reasoning,
            case.tools_parser,
            vocabulary=unspool.Vocabulary(case.special, case.hidden, case.token_bytes),
            tokenizer_config=case.fields.get("tokenizer_config"),
            model="m",
        )
        del case_pair
    except unspool.Error as error:
        if error.kind == "missing_tokens":
            texts = re.findall("`([^`]+)`", error.message.split("needs the token", 1)[1])
    return {OTHER_ID + number: text.encode() for number, text in enumerate(texts)}


class Tokenizer:
    """The vocabulary of one case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        # A case may number its prompt's tokens and its output's by themselves: those of the output count.
        table = missing_of(case) | dict(prompt_of(case)) | dict(case.token_bytes)
        self.table = table
        self.vocab = {token.decode(errors="replace"): id for id, token in table.items()} | case.special
        vocabulary = unspool.Vocabulary(
            case.special, case.hidden, table, tokenizer_config=case.fields.get("tokenizer_config")
        )
        _serving._vocabularies[id(self)] = vocabulary

    def get_vocab(self) -> dict[str, int]:
        return self.vocab

    def decode(self, ids: list[int], **_: Any) -> str:
        return b"".join(self.table[id] for id in ids).decode(errors="replace")

    def close(self) -> None:
        _serving._forget(id(self))


class ModelConfig:
    """What parsers look at of vLLM's."""

    def __init__(self, case: Case) -> None:
        self.model = f"case/{case.id}"
        model_type = case.fields.get("model_type")
        self.hf_config = type("Config", (), {"model_type": model_type})()
        self.hf_text_config = self.hf_config
        self.hf_overrides = None


def request_of(case: Case) -> ChatCompletionRequest:
    fields = dict(case.fields.get("request") or {})
    if case.fields.get("tools"):
        fields["tools"] = case.fields["tools"]
    else:
        # vLLM takes no choice without tools; it is "none" then.
        fields.pop("tool_choice", None)
    fields.setdefault("messages", [{"role": "user", "content": "?"}])
    return ChatCompletionRequest(model="m", **fields)


class Served:
    """A parser class and a request, as the server has them."""

    def __init__(self, case: Case) -> None:
        plugin.register()
        os.environ["UNSPOOL_INCOMPLETE_CALLS"] = case.fields.get("incomplete_calls") or "stream"
        self.case = case
        self.tokenizer = Tokenizer(case)
        self.config = ModelConfig(case)
        name = lambda given: f"{plugin.PREFIX}{given}" if given else None  # noqa: E731
        self.parser_cls = ParserManager.get_parser(
            tool_parser_name=name(case.tools_parser),
            reasoning_parser_name=name(case.reasoning),
            enable_auto_tools=True,
            model_name=self.config.model,
            is_harmony=case.fields.get("model_type") == "gpt_oss",
        )
        self.request = request_of(case)
        params = self.request.build_chat_params(None, "auto").with_defaults({})
        self.kwargs = params.chat_template_kwargs

    def parser(self) -> Any:
        return self.parser_cls(
            self.tokenizer, self.request.tools, chat_template_kwargs=self.kwargs, model_config=self.config
        )

    @property
    def prompt(self) -> list[int] | None:
        return [id for id, _ in prompt_of(self.case)] or None

    def whole(self) -> Answer:
        parser = self.parser()
        if self.prompt is not None:
            parser.set_prompt_token_ids(self.prompt)
        ids = [id for id, _ in self.case.tokens]
        reasoning, content, calls = parser.parse(
            self.case.output, self.request, enable_auto_tools=True, model_output_token_ids=ids
        )
        count = parser.count_reasoning_tokens(ids) if ids else None
        if not self.request.include_reasoning:
            reasoning = None
        found = [(call.id or "", call.name, call.arguments) for call in calls or []]
        return Answer(reasoning or "", content or "", found, reasoning_tokens=count)

    def streamed(self, size: int = 1) -> Answer:
        pieces = self.case.token_pieces() or [(character, None) for character in self.case.output]
        groups = [pieces[at : at + size] for at in range(0, len(pieces), size)] or [[]]
        parser = self.parser()
        reasoning = content = ""
        calls: list[list[str]] = []
        for number, group in enumerate(groups):
            delta = parser.parse_delta(
                "".join(text for text, _ in group),
                [id for _, id in group if id is not None],
                self.request,
                self.prompt,
                finished=number + 1 == len(groups),
            )
            if delta is None:
                continue
            reasoning += delta.reasoning or ""
            content += delta.content or ""
            for call in delta.tool_calls or []:
                if call.id is not None:
                    assert call.index == len(calls) and call.type == "function"
                    calls.append([call.id, call.function.name, ""])
                calls[call.index][2] += call.function.arguments or ""
        ids = [id for id, _ in self.case.tokens]
        count = parser.count_reasoning_tokens(ids) if ids else None
        return Answer(reasoning, content, [tuple(call) for call in calls], reasoning_tokens=count)
