"""How the functions of the step are compiled: once, cached on disk, without reference counts.

numba counts references to every array at every inlined call and in every loop, with atomic additions: two thirds of the
step's time. Nothing in the step allocates or keeps an array, so there is nothing to count, and `_nrt` turns it off; a function
that would allocate does not compile then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def compiled(
    *, is_inlined: bool = False, releases_gil: bool = False, reorders_sums: bool = False
) -> Callable[[F], F]:
    """A decorator for a function of arrays and numbers.

    Args:
        is_inlined: what runs thousands of times a token is copied into its callers.
        releases_gil: other Python threads run meanwhile.
        reorders_sums: sums may be taken in any order, so that they use vector registers.
    """
    options: dict[str, Any] = {"cache": True, "_nrt": False, "nogil": releases_gil}
    if is_inlined:
        options["inline"] = "always"
    if reorders_sums:
        options["fastmath"] = {"reassoc", "contract"}
    return cast("Callable[[F], F]", njit(**options))
