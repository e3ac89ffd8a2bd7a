"""The package's error type."""

from __future__ import annotations


class Error(Exception):
    """A request that cannot be fulfilled. Model output is never an error.

    ``kind`` is a short name: ``unknown_name``, ``bad_format``, ``bad_pair``, ``bad_checkpoint``, ``missing_tokens``, ``unsure``,
    ``request``, ``grammar``, ``render``, ``snapshot``, ``message``, ``no_vocab`` or ``argument``.
    ``hint`` says how to fix it, and ``place`` is the location; both may be None.
    """

    kind: str
    hint: str | None
    place: str | None

    def __init__(self, message: str, kind: str = "argument", hint: str | None = None, place: str | None = None) -> None:
        super().__init__(message, kind, hint, place)
        self.kind = kind
        self.hint = hint
        self.place = place
        if hint is not None and hasattr(self, "add_note"):
            self.add_note(f"hint: {hint}")

    @property
    def message(self) -> str:
        """What is wrong."""
        return str(self.args[0])

    def __str__(self) -> str:
        return self.message
