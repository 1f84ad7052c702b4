"""The active set of a piece: which x and y the states of variables and rows determine.

It is carried from piece to piece. The sums over the known x and y are kept up to date, so that a piece costs
only what changes at it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pqp.certificate.diagonal import DiagonalSystem
from pqp.certificate.document import approximate, entry, items, one_of, shown
from pqp.certificate.problem import Problem
from pqp.certificate.rationals import ZERO, Affine, Floats, Limit
from pqp.errors import CertificateError

VARIABLES = ("between", "lower", "upper", "fixed", "zero")
ROWS = ("off", "lower", "upper", "equal", "below", "above")
_, _, AT_ROW_UPPER, _, BELOW, ABOVE = range(len(ROWS))
UNSET = -1
Codes: TypeAlias = npt.NDArray[np.int8]
LABEL = re.compile("[0-9]{1,18}")


@dataclass(frozen=True)
class Snapshot:
    """An active set as it is at one piece; the fields are those of `ActiveSet`."""

    problem: Problem
    x: dict[int, Affine]
    targets: dict[int, Affine]
    gradient: list[Affine]
    inner: dict[int, Affine]
    variables: Codes
    rows: Codes
    sides: Codes
    signs: Codes
    is_held: Codes
    known_x: Floats
    known_y: Floats

    def y_of(self, i: int) -> Affine:
        """Return the multiplier of a row that its state determines, 0 of a held one."""
        penalty = self.problem.penalty[i]
        if penalty is None or self.rows[i] not in (BELOW, ABOVE):
            return ZERO
        return penalty if self.rows[i] == BELOW else -penalty


class ActiveSet:
    """The states of all items, the x and y they determine, and the sums of these.

    `gradient` is c − Aᵀy and `inner` is Fᵀx (for P = diagonal + F K Fᵀ), both over the known
    entries only; `variables` and `rows` hold the states as positions in VARIABLES and ROWS, `known_x` and
    `known_y` the known ones in float64, constants in the first row and slopes in the second. `sides` says
    where a row that is not held must be: 1 above, -1 below its lower (first row) and upper limit, 0 anywhere;
    `signs` is the sign its multiplier must have if it is held, 0 if any; `is_held` is 1 for held rows.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self._is_set = problem, False
        self.variables = np.full(problem.n, UNSET, dtype=np.int8)
        self.rows = np.full(problem.m, UNSET, dtype=np.int8)
        self.x: dict[int, Affine] = {}
        self.y: dict[int, Affine] = {}
        self.targets: dict[int, Affine] = {}
        self.free: set[int] = set()
        self.gradient: list[Affine] = [line or ZERO for line in problem.c]
        self.inner: dict[int, Affine] = {}
        self.sides, self.signs = np.zeros((2, problem.m), np.int8), np.zeros(problem.m, np.int8)
        self.is_held = np.zeros(problem.m, dtype=np.int8)
        self.known_x, self.known_y = np.zeros((2, problem.n)), np.zeros((2, problem.m))

    @cached_property
    def diagonal(self) -> DiagonalSystem:
        """The matrices of the last solve, where P is diagonal."""
        return DiagonalSystem(self.problem)

    @property
    def is_set(self) -> bool:
        """Whether states were given yet."""
        self._is_set = self._is_set or not ((self.variables == UNSET).any() or (self.rows == UNSET).any())
        return self._is_set

    def snapshot(self) -> Snapshot:
        """Return a copy that later changes leave as it is."""
        return Snapshot(
            self.problem,
            self.x.copy(),
            self.targets.copy(),
            self.gradient.copy(),
            self.inner.copy(),
            self.variables.copy(),
            self.rows.copy(),
            self.sides.copy(),
            self.signs.copy(),
            self.is_held.copy(),
            self.known_x.copy(),
            self.known_y.copy(),
        )

    def set_all(self, states: Any, place: str) -> None:
        """Take over the states of a dense segment, or those that changes begin with."""
        for kind, setter, known in self._kinds():
            listed = items(entry(states, kind, place), len(known), f"{place}: {kind}")
            for i, state in enumerate(listed):
                setter(i, state, f"{place}: {kind}[{i}]")

    def change(self, changes: Any, place: str) -> None:
        """Take over changes such as {"variables": {"3": "upper"}, "rows": {"17": "below"}}."""
        for kind, setter, known in self._kinds():
            part = changes.get(kind, {}) if isinstance(changes, Mapping) else None
            if not isinstance(part, Mapping):
                found = shown(changes, "null")
                raise CertificateError(argument=place, expected="objects by kind", found=found)
            for label, state in part.items():
                if not (isinstance(label, str) and LABEL.fullmatch(label) and int(label) < len(known)):
                    expected = f"indices below {len(known)}"
                    message = "{argument} must name {expected}"
                    raise CertificateError(message, argument=f"{place}.{kind}", expected=expected)
                setter(int(label), state, f"{place}.{kind}.{label}")

    def _kinds(self) -> Sequence[tuple[str, Any, Any]]:
        return (("variables", self._set_variable, self.variables), ("rows", self._set_row, self.rows))

    def _set_variable(self, j: int, state: Any, place: str) -> None:
        # dense segments state all, and nearly none of them changed
        if self.variables[j] != UNSET and state == VARIABLES[self.variables[j]]:
            return
        roles = variable_roles(self.problem.lower[j], self.problem.upper[j])
        known = roles[one_of(tuple(roles), state, place)]
        self.variables[j] = VARIABLES.index(state)
        (self.free.add if known is None else self.free.discard)(j)
        change = _replace(self.x, self.known_x, j, known or ZERO)
        # the sum is corrected by the difference: exact numbers leave no rounding error behind
        for k, factor in () if change.is_zero else self.problem.P.factor_row(j).items():
            self.inner[k] = self.inner.get(k, ZERO) + change.scaled(factor)

    def _set_row(self, i: int, state: Any, place: str) -> None:
        if self.rows[i] != UNSET and state == ROWS[self.rows[i]]:
            return
        roles = row_roles(self.problem.row_lower[i], self.problem.row_upper[i], self.problem.penalty[i])
        target, known = roles[one_of(tuple(roles), state, place)]
        self.rows[i] = ROWS.index(state)
        self.sides[:, i] = self._sides(i, state)
        self.signs[i] = 0 if self.problem.is_equation[i] else (state == "lower") - (state == "upper")
        self.targets.pop(i, None)
        if target is not None:
            self.targets[i] = target
        self.is_held[i] = target is not None
        change = _replace(self.y, self.known_y, i, known or ZERO)
        # As with x, only differences are added, so that a change costs one row of A.
        for j, factor in () if change.is_zero else self.problem.A.row(i).items():
            self.gradient[j] -= change.scaled(factor)

    def _sides(self, i: int, state: str) -> tuple[int, int]:
        # a row that is off must respect its limits, unless violating them costs nothing
        if state == "off" and not self.problem.is_costless[i]:
            return int(self.problem.row_lower[i] is not None), -int(self.problem.row_upper[i] is not None)
        return -(state == "below"), int(state == "above")


def _replace(values: dict[int, Affine], floats: Floats, item: int, new: Affine) -> Affine:
    """Return by how much the known x or y of an item changes; zeros are not kept."""
    change = new - values.pop(item, ZERO)
    if not new.is_zero:
        values[item] = new
    floats[:, item] = approximate(new.constant), approximate(new.slope)
    return change


def variable_roles(lower: Limit, upper: Limit) -> dict[str, Limit]:
    """Return what x is in each state this variable can be in, None for an unknown."""
    roles: dict[str, Limit] = {"between": None} | ({"zero": ZERO} if lower is None and upper is None else {})
    roles |= {state: limit for state, limit in (("lower", lower), ("upper", upper)) if limit is not None}
    return roles | ({"fixed": lower} if lower is not None and lower == upper else {})


def row_roles(lower: Limit, upper: Limit, penalty: Limit) -> dict[str, tuple[Limit, Limit]]:
    """Return (limit it is held at, None) or (None, multiplier) for each state this row can be in."""
    roles: dict[str, tuple[Limit, Limit]] = {"off": (None, ZERO)}
    if lower is not None:
        roles |= {"lower": (lower, None)} | ({} if penalty is None else {"below": (None, penalty)})
    if upper is not None:
        roles |= {"upper": (upper, None)} | ({} if penalty is None else {"above": (None, -penalty)})
    return roles | ({"equal": (lower, None)} if lower is not None and lower == upper else {})
