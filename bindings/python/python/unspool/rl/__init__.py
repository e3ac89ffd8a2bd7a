"""Adapters for libraries that train: :mod:`unspool.rl.verl` and :mod:`unspool.rl.trl`. Each needs its library."""
