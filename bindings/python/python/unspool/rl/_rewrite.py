"""Renders a parsed output with the same pair and compares it with the model's text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, Literal

from .. import Message, Pair, Vocabulary
from .._error import Error

#: Maximum length, in tokens, of a stretch whose differences are listed one by one; a longer one is one difference.
LONGEST = 2_000


@dataclass(frozen=True)
class Difference:
    """A stretch where a model's ids differ from those of its format.

    ``tokens`` is a half-open range of the given ids; ``wrote`` and ``canonical`` are the two texts. The texts are equal if
    only the tokenization differs.
    """

    tokens: tuple[int, int]
    wrote: str
    canonical: str

    @property
    def same_text(self) -> bool:
        """Whether only the tokens differ."""
        return self.wrote == self.canonical


@dataclass(frozen=True)
class Rewritten:
    """The parsed message, and the pair's rendering of it.

    ``text`` and ``ids`` are the rendering, with the model's own white space outside of calls; trailing ids without text (an end-of-turn token) are as given. Both are None if
    the format cannot express the message, such as a call that was cut off; ``error`` then says why.
    """

    message: Message
    text: str | None
    ids: list[int] | None
    differences: list[Difference] = field(default_factory=list)
    error: Error | None = None

    @property
    def canonical(self) -> bool:
        """Whether the model's output equals the pair's rendering, token for token, white space outside of calls aside."""
        return self.error is None and not self.differences


def rewrite(
    pair: Pair,
    ids: Sequence[int],
    encode: Any,
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    prompt: str | Sequence[int] | None = None,
    start: Literal["content", "reasoning"] | None = None,
    request: Mapping[str, Any] | None = None,
    reason: Literal["stop", "length", "tool_calls"] | None = None,
) -> Rewritten:
    """Parses ids, renders the message with the same pair, and reports where the model's output differs.

    ``encode`` is a tokenizer of ``tokenizers`` or ``transformers``, or a function from a text to its ids. The pair's
    vocabulary must have the bytes of its tokens. ``prompt`` determines where the reply begins, as for ``Pair.parse_ids``;
    the part of the reasoning's opener that it contains is not expected in the output. White space between texts, reasoning
    and calls, and missing reasoning, count as no difference, because templates differ there.
    """
    vocabulary = pair.vocabulary
    if vocabulary is None or not vocabulary.has_bytes:
        raise Error("the pair's vocabulary has no bytes", "no_vocab", "give `Pair` a tokenizer or a checkpoint's folder", "pair")
    given = list(ids)
    message = pair.parse_ids(given, tools=tools, prompt=prompt, start=start, request=request, reason=reason)
    try:
        text = pair.render(message, tools=tools, request=request)
    except Error as error:
        return Rewritten(message, None, None, error=error)
    shown, end = _shown(vocabulary, given)
    text = text[_not_expected(pair, message, text, _text(vocabulary, prompt), _text(vocabulary, shown[:LONGEST]), start) :]
    written, differences = _compared(vocabulary, message, shown, _encoder(encode)(text))
    return Rewritten(message, _text(vocabulary, written), written + end, differences)


def _encoder(encode: Any) -> Callable[[str], list[int]]:
    """Encodes text to ids, without added special tokens."""
    method = getattr(encode, "encode", None)
    if method is None:
        return lambda text: list(encode(text))

    def ids(text: str) -> list[int]:
        made = method(text, add_special_tokens=False)
        return list(getattr(made, "ids", made))

    return ids


def _text(vocabulary: Vocabulary, tokens: str | Sequence[int] | None) -> str:
    if tokens is None or isinstance(tokens, str):
        return tokens or ""
    return b"".join(vocabulary.token_bytes(id) or b"" for id in tokens).decode(errors="replace")


def _shown(vocabulary: Vocabulary, ids: list[int]) -> tuple[list[int], list[int]]:
    """The ids, and the trailing ids without text."""
    special = vocabulary.special
    hidden = {special[text] for text in vocabulary.hidden if text in special}
    end = len(ids)
    while end and ids[end - 1] in hidden:
        end -= 1
    return ids[:end], ids[end:]


def _not_expected(pair: Pair, message: Message, text: str, prompt: str, output: str, start: str | None) -> int:
    """Length of the beginning that the output may omit: text that is already in the prompt, or reasoning without text."""
    markers = pair.reasoning_markers
    if markers is None or not text.startswith(markers[0]):
        return 0
    if start == "reasoning":
        return len(markers[0])
    end = text.find(markers[1])
    # The prompt has the opener, or an empty thought, with the white space behind it: no more of the text can be there.
    behind = end + len(markers[1]) if end >= 0 and not message.reasoning else len(markers[0])
    most = len(text) - len(text[behind:].lstrip())
    for length in range(min(most, len(prompt)), len(markers[0].rstrip()) - 1, -1):
        if prompt.endswith(text[:length]):
            return length
    if message.reasoning or end < 0 or output.lstrip().startswith(markers[0].rstrip()):
        return 0
    return len(text) - len(text[end + len(markers[1]) :].lstrip())


def _compared(
    vocabulary: Vocabulary, message: Message, wrote: list[int], canonical: list[int]
) -> tuple[list[int], list[Difference]]:
    """The canonical ids with the model's own white space between the parts, and the differences from its output."""
    first = 0
    while first < min(len(wrote), len(canonical)) and wrote[first] == canonical[first]:
        first += 1
    last = 0
    while last < min(len(wrote), len(canonical)) - first and wrote[-1 - last] == canonical[-1 - last]:
        last += 1
    ours, theirs = wrote[first : len(wrote) - last], canonical[first : len(canonical) - last]
    stretches = [("replace", 0, len(ours), 0, len(theirs))]
    if max(len(ours), len(theirs)) <= LONGEST:
        stretches = list(SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes())
    ids, differences, calls = wrote[:first], [], _calls(vocabulary, message, wrote)
    for tag, a, b, c, d in stretches:
        here = Difference((first + a, first + b), _text(vocabulary, ours[a:b]), _text(vocabulary, theirs[c:d]))
        blank = (here.wrote + here.canonical).isspace()
        if tag == "equal" or blank and not any(_overlap(here.tokens, call) for call in calls):
            ids += ours[a:b]
        elif a < b or c < d:
            ids += theirs[c:d]
            differences.append(here)
    return ids + wrote[len(wrote) - last :], differences


def _calls(vocabulary: Vocabulary, message: Message, ids: list[int]) -> list[tuple[int, int]]:
    """The token ranges of the calls, without white space at their edges: a call's template may begin with a line break."""
    ranges = []
    for call in message.tool_calls:
        if call.place is not None and call.place.tokens is not None:
            first, end = call.place.tokens
            while first < end and _text(vocabulary, ids[first : first + 1]).isspace():
                first += 1
            while first < end and _text(vocabulary, ids[end - 1 : end]).isspace():
                end -= 1
            ranges.append((first, end))
    return ranges


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two ranges overlap; an empty one does inside the other."""
    return one[0] < other[1] and other[0] < one[1]
