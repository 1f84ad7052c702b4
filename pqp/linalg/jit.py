"""Decorators for compiled code: the one place of `pqp` that imports numba.

numba takes a third of a second to import, so no module that `import pqp` loads may import this one.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

# Kept on disk, since compiling takes seconds; dividing by zero gives an infinity, as in numpy; no C calls it.
OPTIONS: dict[str, Any] = {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}
INNER_OPTIONS = OPTIONS | {"no_cpython_wrapper": True}
Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Return a function, compiled when it is first called."""
    return njit(**OPTIONS)(function)


def compiled_inside(function: Function) -> Function:
    """Return a function that only compiled code calls: the wrapper for Python takes long to compile."""
    return njit(**INNER_OPTIONS)(function)


def compiled_in_any_order(function: Function) -> Function:
    """Return a function compiled so that several sums or maxima may be taken at once."""
    return njit(**OPTIONS, fastmath=True)(function)


def summed_in_any_order(function: Function) -> Function:
    """Return a function that only compiled code calls, whose sums, finite or not, may change their order."""
    return njit(**INNER_OPTIONS, fastmath={"reassoc", "nsz", "contract"})(function)
