"""Tools for training. :func:`rewrite` checks whether a model follows its format exactly; :mod:`unspool.rl.verl` and
:mod:`unspool.rl.trl` are adapters that need these libraries."""

from ._rewrite import Difference, Rewritten, rewrite

__all__ = ["Difference", "Rewritten", "rewrite"]
