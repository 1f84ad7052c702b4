"""Refusals are counted: a property test may skip examples that float64 refuses, but only a stated share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from hypothesis import reject

from pqp.errors import NumericalTroubleError


class RefusedError(Exception):
    """An example that float64 refuses where that is allowed."""


@contextmanager
def may_refuse() -> Iterator[None]:
    """Allow `NumericalTroubleError` in a block of a property test, which `refused_at_most` counts."""
    try:
        yield
    except NumericalTroubleError as trouble:
        raise RefusedError from trouble


def refused_at_most(share: float) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a property, decorated with `given`, skip refused examples; fail if they are more than a share."""

    def wrap(test: Any) -> Callable[..., None]:
        holds = test.hypothesis.inner_test
        is_refused: list[bool] = []

        @wraps(holds)
        def counted(*args: Any, **values: Any) -> None:
            is_refused.append(False)
            try:
                holds(*args, **values)
            except RefusedError:
                is_refused[-1] = True
                reject()

        test.hypothesis.inner_test = counted

        @wraps(test)
        def checked(*args: Any, **values: Any) -> None:
            is_refused.clear()
            test(*args, **values)
            refused = sum(is_refused)
            assert refused <= share * len(is_refused), f"{refused} of {len(is_refused)} examples were refused"

        return checked

    return wrap
