"""Refusals: what an error must say about an argument, and how often float64 may refuse a random example."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest
from hypothesis import reject

from pqp.errors import ExplainedError, NumericalTroubleError


@contextmanager
def refuses(
    kind: type[ExplainedError], argument: str, match: str | None = None, **parts: object
) -> Iterator[Any]:
    """Require an error about an argument by its data: `found`, `expected`, `row`, `column` and so on.

    Where a pattern is given, the sentence in Python must match it too; a few tests do that for each kind.
    """
    with pytest.raises(kind, match=match) as caught:
        yield caught
    data = {name: str(getattr(caught.value, name)) for name in ("argument", *parts)}
    assert data == {"argument": argument, **{name: str(part) for name, part in parts.items()}}


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
