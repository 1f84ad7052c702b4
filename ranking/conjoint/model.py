r"""ConjointSVM: part-worths at one C, for all respondents together, each alone, or pooled.

Room: a study in, a fitted estimator out.
May touch: `errors`, `arguments`, `arrays`, `study`, `rows`, `orders`, `cbc`, `tracing`, `pooled`,
`conflicts`, `fitted`, and `pqp`; joblib.
"""

import numpy as np
from joblib import Parallel, delayed

import pqp
from ranking.arguments import positive_number
from ranking.arrays import Array
from ranking.conjoint.cbc import Program
from ranking.conjoint.conflicts import Conflict, find_conflict, find_conflicts
from ranking.conjoint.fitted import ConjointModel, Pooling, require_pooling, require_study
from ranking.conjoint.orders import Orders, order_rows
from ranking.conjoint.pooled import CLOSED, solve_pooled
from ranking.conjoint.rows import choice_rows
from ranking.conjoint.study import ConjointStudy
from ranking.conjoint.tracing import trace, z_at
from ranking.errors import ContradictionError, DataError


class ConjointSVM(ConjointModel):
    r"""Part-worths from choices, as a support vector machine with one C.

    Parameters
    ----------
    C
        What a choice costs that part-worths do not explain; `inf` explains all of them, or raises
        `ContradictionError` with a minimal set of choices that contradict each other.
    pooling
        "aggregate": one set of part-worths for all; "individual": each respondent alone, with weights of
        respondents used only in means; "shrinkage": :math:`v_r = v_0 + u_r`, see `ranking.conjoint.cbc`.
    shrinkage
        γ, between 0 (everyone alone) and 1 (all alike), of pooling="shrinkage".
    orders
        Orders of levels that all part-worths must keep, also those of strangers: {"price": "falls",
        "quality": "rises"}, or levels from the worst to the best.
    n_jobs
        Processes for respondents alone, as in joblib.

    Attributes
    ----------
    part_worths_, individual_part_worths_ : means over respondents, and those of everyone.
    common_part_worths_ : v_0, what a stranger is taken to want; the mean where there is no v_0.
    importances_ : of attributes in per cent, of everyone, then averaged.
    duality_gap_ : of pooling="shrinkage" solved through its structure, relatively; else None.

    >>> from ranking.conjoint import example_study
    >>> train, held = example_study().split_holdout()
    >>> model = ConjointSVM(C=0.1, pooling="shrinkage", orders={"price": "falls"}).fit(train)
    >>> bool((model.individual_part_worths_["price"].diff(axis=1).iloc[:, 1:] < 1e-9).all(axis=None))
    True
    >>> model.score(held) > 0.5
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        pooling: Pooling = "aggregate",
        shrinkage: float = 0.3,
        orders: Orders | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.pooling = pooling
        self.shrinkage = shrinkage
        self.orders = orders
        self.n_jobs = n_jobs

    def fit(self, study: ConjointStudy, y: None = None) -> "ConjointSVM":
        """Fit to the tasks of a study that are not held out."""
        C = positive_number(self.C, "C", can_be_infinite=True)
        require_pooling(self.pooling, self.shrinkage)
        programs = programs_of(study, self.pooling, self.shrinkage, self.orders)
        if np.isinf(C):
            _require_agreement(study, self.pooling, self.orders)
        self._learn_names(study)
        self.duality_gap_: float | None = None
        if self.pooling == "individual":
            found = Parallel(n_jobs=self.n_jobs)(delayed(solve_program)(program, C) for program in programs)
            return self._keep(np.vstack(found))
        (program,) = programs
        if self.pooling == "aggregate":
            return self._keep(np.repeat(solve_program(program, C), len(study.respondents), axis=0))
        worths, v_0, self.duality_gap_ = solve_pool(program, C)
        return self._keep(worths, v_0)

    def _keep(self, worths: Array, common: Array | None = None) -> "ConjointSVM":
        """Keep part-worths under the names users look for."""
        self.worths_ = worths
        mean = np.average(worths, axis=0, weights=self.weights_)
        self.common_part_worths_ = mean if common is None else common
        return self

    def _worths(self) -> Array:
        return self.worths_

    def _common(self) -> Array:
        return self.common_part_worths_

    def _knows_strangers(self) -> bool:
        return self.pooling != "individual"


def programs_of(
    study: ConjointStudy, pooling: Pooling, shrinkage: float, orders: Orders | None
) -> list[Program]:
    """Return the program of a study, or one for every respondent."""
    require_study(study)
    differences, conditions = study.differences(), order_rows(study, orders).rows
    if not len(differences):
        raise DataError("study has no task to learn from: all are held out, or have one alternative only")
    if pooling == "aggregate":
        return [Program(choice_rows(differences), conditions)]
    n = len(study.respondents)
    if pooling == "shrinkage":
        return [Program(choice_rows(differences, n), conditions, float(shrinkage))]
    rows = choice_rows(differences, n, is_weighted=False)
    return [Program(rows.of(code), conditions) for code in range(n)]


def solve_program(program: Program, C: float) -> Array:
    """Return the part-worths of all owners at one C, from the end of the path that begins at C = 0."""
    return np.asarray(program.part_worths(solution_of(program, C)))


def solution_of(program: Program, C: float) -> Array:
    """Return z at one C, which is infinite if choices are hard."""
    if np.isinf(C):
        return np.asarray(pqp.solve(program.hard(), 0).x, dtype=float)
    return z_at(program, trace(program, C), C)


def solve_pool(program: Program, C: float) -> tuple[Array, Array, float | None]:
    """Return part-worths of a pool, v_0 and the duality gap, through the structure of the pool if possible.

    Where there are orders, or the gap does not close, the path from C = 0 is followed, and no gap told.
    """
    assert program.shrinkage is not None
    g = program.shrinkage
    if not len(program.orders) and np.isfinite(C):
        found = solve_pooled(program.rows, g, C)
        if found.gap <= CLOSED:
            z = np.concatenate([np.sqrt(g) * found.common, np.sqrt(1 - g) * found.own.ravel()])
            return program.part_worths(z), program.common(z), found.gap
    z = solution_of(program, C)
    return program.part_worths(z), program.common(z), None


def _require_agreement(study: ConjointStudy, pooling: Pooling, orders: Orders | None) -> None:
    """Raise if choices that must all be explained contradict each other."""
    if pooling == "aggregate":
        conflict = find_conflict(study, orders)
        conflicts: tuple[Conflict, ...] = () if conflict is None else (conflict,)
    else:
        conflicts = tuple(find_conflicts(study, orders).values())
    if conflicts:
        more = f" ({len(conflicts)} respondents in all)" if len(conflicts) > 1 else ""
        raise ContradictionError(
            f"no part-worths explain all choices: these contradict each other{more}; give a finite C\n"
            f"{conflicts[0]}",
            conflicts,
        )
