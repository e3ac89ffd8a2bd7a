"""Asks xgrammar itself whether it accepts and rejects what llguidance does.

    GRAMMAR_DUMP=dump.jsonl GRAMMAR_SAMPLES=20 cargo test -p unspool --test grammar
    python crates/unspool/tests/grammar/judge.py dump.jsonl

It needs the package `xgrammar` 0.2.8. Of what that needs, torch and transformers are not used here and may be missing.
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


# Of a string with a bounded length, xgrammar counts an escape by its letters.
ESCAPE_IN_BOUNDED = re.compile(r'"short"\s*:\s*"[^"]*\\\\')


def check(case):
    grammar = xgrammar.Grammar.from_structural_tag(json.dumps(case["tag"]))
    for text in case["accepted"]:
        if not accepts(grammar, text) and not ESCAPE_IN_BOUNDED.search(text):
            yield f"rejects {text!r}"
    for text in case["rejected"]:
        if accepts(grammar, text):
            yield f"accepts {text!r}"


def main(path):
    faults = texts = cases = 0
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            cases += 1
            texts += len(case["accepted"]) + len(case["rejected"])
            try:
                found = list(check(case))
            except Exception as error:  # noqa: BLE001  (each tag gets its verdict)
                found = [f"does not compile: {error}"]
            faults += len(found)
            for fault in found[:2]:
                print(f"{case['name']}: {fault}"[:1200])
    print(f"{cases} tags, {texts} texts, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
