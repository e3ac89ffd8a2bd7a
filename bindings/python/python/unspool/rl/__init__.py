"""For people who train. :func:`rewrite` says whether a model wrote as its format does; :mod:`unspool.rl.verl` and :mod:`unspool.rl.trl`
are adapters that need these libraries."""

from ._rewrite import Difference, Rewritten, rewrite

__all__ = ["Difference", "Rewritten", "rewrite"]
