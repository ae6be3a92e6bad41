"""PTX to SSA: what the stage `ast` is lowered to."""

from qgc.backends.ssa.lower import lower_kernel, lower_module

__all__ = ["lower_kernel", "lower_module"]
