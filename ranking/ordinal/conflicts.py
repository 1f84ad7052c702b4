r"""Conflicts: nonnegative multipliers of hinges that add up to a contradiction, checked by definition.

Hinges :math:`s\,(f(x_i) - p_k) \ge 1` with multipliers α ≥ 0, Σ α = 1, such that

.. math:: \sum_h s_h \alpha_h\, x_{i(h)} = 0, \qquad \sum_{h:\,k(h) = k} s_h \alpha_h = 0 \text{ for all } k

add up to 0 ≥ 1: no w and no p satisfy all of them. With a kernel the first sum is one of feature vectors,
and is 0 if and only if the same sum over rows of K is.

Room: multipliers in, yes or no, and the sentence that names the objects, out. Solves nothing.
May touch: `errors`, `arguments`, `arrays`, `levels`, `hinges`.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from ranking.arguments import Integers
from ranking.arrays import Array, as_dense, as_table
from ranking.errors import NotSeparableError
from ranking.levels import Levels
from ranking.ordinal.hinges import Scope, hinges_of

Given = Literal["primal", "kernel"]
# Sums of float multipliers may miss 0 by rounding, relative to the largest entry that is added.
ROUNDING = 1e-8
# How many objects a message names.
MOST = 10


@dataclass(frozen=True, eq=False)
class Conflict:
    """Hinges that contradict one another: object, threshold (from 0), sign and multiplier of each.

    The multipliers are Fractions where the contradiction is exact for the numbers of X or K at face value.
    """

    row: Integers
    threshold: Integers
    sign: Array
    alpha: Array

    @property
    def rows(self) -> tuple[int, ...]:
        """The objects that conflict."""
        return tuple(np.unique(self.row).tolist())

    def renumbered(self, rows: Integers) -> "Conflict":
        """Return the conflict with the objects 0, 1, ... called by other numbers."""
        return Conflict(rows[self.row], self.threshold, self.sign, self.alpha)


def is_conflict(conflict: Conflict, rows: Any, codes: Integers, scope: Scope = "adjacent") -> bool:
    """Tell whether multipliers prove that objects with these labels are not separable, by the definition.

    `rows` are those of X, or of K; they are taken at face value if the multipliers are Fractions, and up to
    rounding otherwise.

    >>> both = Conflict(np.array([0, 1]), np.array([0, 0]), np.array([-1.0, 1.0]), np.array([0.5, 0.5]))
    >>> [is_conflict(both, X, np.array([0, 1])) for X in ([[3.0], [3.0]], [[3.0], [4.0]])]
    [True, False]
    """
    alpha, is_exact = conflict.alpha, conflict.alpha.dtype == object
    table = as_dense(as_table(rows, "X or K")[conflict.row]).T
    signed = conflict.sign.astype(int) * alpha
    slack = 0.0 if is_exact else ROUNDING * max(1.0, float(np.abs(table).max(initial=0.0)))
    combined = (_exact(table) if is_exact else table) @ signed
    return bool(
        _are_asked(conflict, codes, scope)
        and (alpha > 0).all()
        and abs(alpha.sum() - 1) <= slack
        and all(abs(signed[conflict.threshold == k].sum()) <= slack for k in np.unique(conflict.threshold))
        and (np.abs(combined) <= slack).all()
    )


def not_separable(
    conflict: Conflict, codes: Integers, form: Given, levels: Levels | None = None
) -> NotSeparableError:
    """Return the error that names the objects in conflict and their levels."""
    names = codes if levels is None else levels.labels(codes)
    shown = [f"{row} (level {names[row]})" for row in conflict.rows[:MOST]]
    more = f" and {len(conflict.rows) - MOST} more" if len(conflict.rows) > MOST else ""
    remedy = "a kernel" if form == "primal" else "another kernel"
    return NotSeparableError(
        f"these objects conflict: rows {', '.join(shown)}{more}; no weights and thresholds put each of them "
        f"between its thresholds; use a finite C or {remedy}",
        conflict.rows,
        conflict,
    )


def _are_asked(conflict: Conflict, codes: Integers, scope: Scope) -> bool:
    """Tell whether the hinges are those of objects with these labels."""
    hinges = hinges_of(codes, int(codes.max()) + 1, scope=scope)
    asked = set(zip(hinges.item.tolist(), hinges.threshold.tolist(), hinges.sign.tolist(), strict=True))
    found = zip(conflict.row.tolist(), conflict.threshold.tolist(), conflict.sign.tolist(), strict=True)
    return all(hinge in asked for hinge in found)


def _exact(table: Array) -> Array:
    return np.array([Fraction(entry) for entry in table.ravel().tolist()], dtype=object).reshape(table.shape)
