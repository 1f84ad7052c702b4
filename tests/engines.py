"""The engines every promise is tested on: the revised one, the tableau in floats and in rationals."""

from dataclasses import dataclass
from typing import Any

import pytest

import pqp
from pqp.linalg.field import FIELDS, Field
from pqp.records.segment import Point


@dataclass(frozen=True)
class Engine:
    """A method and an arithmetic, as `solve_path` takes them."""

    method: str
    arithmetic: Any

    @property
    def is_exact(self) -> bool:
        """Whether its numbers are rationals."""
        return bool(self.arithmetic == "exact")

    @property
    def field(self) -> Field:
        """Its numbers."""
        return FIELDS[self.arithmetic]

    def trace(self, problem: pqp.ParametricQP, interval: tuple[Any, Any], **options: Any) -> pqp.Path:
        """The path over an interval."""
        return pqp.solve_path(problem, interval, method=self.method, arithmetic=self.arithmetic, **options)

    def solve(self, problem: pqp.ParametricQP, mu: Any) -> Point:
        """The solution at one mu."""
        return self.trace(problem, (mu, mu))(mu)


REVISED = Engine("revised", "float")
TABLEAU = Engine("tableau", "float")
EXACT = Engine("tableau", "exact")
ENGINES = {"revised": REVISED, "tableau": TABLEAU, "exact": EXACT}

EVERY_ENGINE = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
FLOAT_ENGINES = pytest.mark.parametrize("engine", [REVISED, TABLEAU], ids=["revised", "tableau"])
