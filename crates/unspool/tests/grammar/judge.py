"""Asks xgrammar itself whether it accepts and rejects what llguidance does.

`.ci/judge-grammars` installs xgrammar, runs the tests and this. Of what xgrammar needs, torch, triton and transformers are not
used here and may be missing.
"""

import importlib.machinery
import importlib.util
import json
import re
import sys
import types


class Missing:
    """Stands for anything of a package that is not installed."""

    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        return args[0] if args and callable(args[0]) else Missing()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing()

    def __or__(self, other):
        return self

    __ror__ = __or__

    def __bool__(self):
        return False

    def __mro_entries__(self, bases):
        return (object,)


class MissingModule(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (object,), {}) if name[:1].isupper() else Missing()


def stand_in(*names):
    for name in names:
        if name.split(".")[0] in sys.modules or importlib.util.find_spec(name.split(".")[0]) is None:
            module = MissingModule(name)
            module.__path__ = []
            sys.modules[name] = module


import tvm_ffi  # noqa: E402, F401  (before a stand-in for torch could be taken for it)

stand_in("torch", "torch.utils", "torch.utils.cpp_extension", "transformers", "triton", "triton.language")

import xgrammar  # noqa: E402
from xgrammar.testing import _is_grammar_accept_string as accepts  # noqa: E402


def bounded(node):
    """The names of members whose text a pattern bounds; `None` among them: all of them."""
    if isinstance(node, list):
        for one in node:
            yield from bounded(one)
    if isinstance(node, dict):
        for name, schema in [*node.get("properties", {}).items(), *node.get("$defs", {}).items()]:
            if isinstance(schema, dict) and "pattern" in schema:
                yield None if name == "any_text" else re.escape(name)
        for one in node.values():
            yield from bounded(one)


def beyond(tag):
    """What xgrammar cannot: a number with bounds has at most six digits behind its point and is never -0; no escape stands in
    a string that has a pattern, as no alternative of one may begin with a backslash; no white space in front of JSON, which
    llguidance takes in some places."""
    names = set(bounded(tag))
    patterns = [r"\.\d{7}", r"(?:\": |>)\s+[\[{]", r"\b(?:i|days)\W*-0\b"]
    if None in names:
        patterns.append(r"\\")
    elif names:
        patterns.append(rf'"(?:{"|".join(names)})"\s*:\s*"[^"]*\\')
    return re.compile("|".join(patterns))


def check(case, excused):
    grammar = xgrammar.Grammar.from_structural_tag(json.dumps(case["tag"]))
    exempt = beyond(case["tag"])
    for text in case["accepted"]:
        if not accepts(grammar, text):
            if exempt.search(text):
                excused.append(text)
            else:
                yield f"rejects {text!r}"
    for text in case["rejected"]:
        if accepts(grammar, text):
            yield f"accepts {text!r}"


def main(path):
    faults = texts = cases = 0
    excused = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            cases += 1
            texts += len(case["accepted"]) + len(case["rejected"])
            try:
                found = list(check(case, excused))
            except Exception as error:  # noqa: BLE001  (each tag gets its verdict)
                found = [f"does not compile: {error}"]
            faults += len(found)
            for fault in found[:2]:
                print(f"{case['name']}: {fault}"[:1200])
    print(f"{cases} tags, {texts} texts, {faults} faults; {len(excused)} texts are beyond xgrammar and were let off")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
