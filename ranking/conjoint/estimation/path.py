"""ConjointPath: part-worths at every C, exactly, and the hit rate at every C."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

import pqp
from ranking.conjoint.data.choice_table import Choices
from ranking.conjoint.data.study import ConjointStudy
from ranking.conjoint.estimation.model import ConjointModel, ConjointSVM, programs_of, require_pooling
from ranking.conjoint.estimation.programs import Program, readout, trace, worth_lines, z_at
from ranking.conjoint.results.bootstrap import weighted_mean
from ranking.conjoint.results.stability import PartWorthLines
from ranking.core.validation import Array, Integers
from ranking.errors import DataError, must_be, rounding_remedy
from ranking.selection.choice_along_path import SelectionCurve
from ranking.selection.path_model import end_of_path, on_path
from ranking.selection.piecewise import (
    ENTRIES,
    PiecewiseLinear,
    crossings,
    cumulated,
    earlier_changes,
    steps_of,
)

# Crossings closer together than this part of C are one: with whole-number data many of them coincide.
ONE_POINT = 1e-12


class HitSteps(NamedTuple):
    """From `start` on, the sums over tasks of w h, w² h and w² h², h being the hit and w its weight.

    `end` is where the last step ends; `weight` and `squares` are the sums of w and w², `tasks` their number.
    """

    start: Array
    sums: Array
    end: float
    weight: float
    squares: float
    tasks: int


def count_hits(choices: Choices, weight: Array, lines: Iterable[PiecewiseLinear]) -> HitSteps:
    """Return where on a path tasks of some weights are hit, from the lines of their alternatives, in order.

    Utilities are linear in C on every piece of a path. A task is hit where no other alternative is ahead of
    the chosen one, and this changes only where the utilities of the two cross: the hit rate is a step
    function of C. Paths of different respondents have pieces of their own; their steps are added up.
    """
    pairs = choices.pairs()
    parts, end = [], 0.0
    size = max(1, ENTRIES // max(1, len(pairs)))
    for block in lines:
        for begin in range(0, len(block.lo), size):
            parts.append(_hits_on(block.pieces(slice(begin, begin + size)), choices, weight, pairs))
        end = float(block.hi[-1])
    if not parts:
        raise DataError("the path has no piece to count hits on", argument="lines")
    starts, sums = (np.concatenate(column) for column in zip(*parts, strict=True))
    return HitSteps(starts, sums, end, float(weight.sum()), float(weight @ weight), len(weight))


def _hits_on(lines: PiecewiseLinear, choices: Choices, weight: Array, pairs: Integers) -> tuple[Array, Array]:
    """Return where steps begin and the three sums on them, for some pieces."""
    ahead, flips, at = crossings(lines, pairs)
    task_of_pair = choices.task_of_row[pairs[:, 0]]
    # how many alternatives of every task are ahead of the chosen one on a piece, and how many tie with it
    first_pair = np.flatnonzero(np.diff(task_of_pair, prepend=-1))
    better, level = np.zeros((2, len(ahead), len(choices)), dtype=np.int64)
    if len(first_pair):
        for counts, is_such in ((better, ahead < 0), (level, ahead == 0)):
            counts[:, task_of_pair[first_pair]] = np.add.reduceat(is_such, first_pair, axis=1, dtype=np.int64)
    # an alternative that ties with the chosen one on a whole piece shares the hit
    share = 1 / (1 + level)
    first = _summands(weight, (better == 0) * share).sum(axis=1)
    # a flip moves an alternative from behind the chosen one to ahead of it, or back: the hit ends with
    # the first alternative that gets ahead, and returns with the last one that falls behind
    task = task_of_pair[flips.pair]
    before = better[flips.piece, task] + earlier_changes(flips.piece * len(choices) + task, flips.change)
    change = np.where(before == 0, -1.0, np.where(before + flips.change == 0, 1.0, 0.0))
    matters = change != 0
    task, piece, at = task[matters], flips.piece[matters], at[matters]
    added = change[matters, None] * _summands(weight[task], share[piece, task])
    pieces, starts, is_flip = steps_of(lines, piece, at)
    return starts, cumulated(first, added, pieces, is_flip)


def _summands(w: Array, h: Array) -> Array:
    """Return what hits of tasks add to the three sums."""
    return np.stack([w * h, w * w * h, w * w * h * h], axis=-1)


def hit_rate_curve(steps: Sequence[HitSteps]) -> SelectionCurve:
    """Return the hit rate over the tasks of all paths, as far as all of them reach.

    Standard errors take tasks as independent of each other.
    """
    end = min(part.end for part in steps)
    starts = np.concatenate([part.start for part in steps])
    jumps = np.concatenate([np.diff(part.sums, axis=0, prepend=0.0) for part in steps])
    order = np.argsort(starts, kind="stable")
    starts, sums = starts[order], np.cumsum(jumps[order], axis=0)
    # where several steps begin at one point, the sum after the last of them counts
    is_last = np.append(np.diff(starts) > ONE_POINT * starts[1:], True)
    first = np.append(True, is_last[:-1])
    starts, sums = starts[first], sums[is_last]
    inside = starts < end
    starts, sums = starts[inside], sums[inside]
    weight, squares, tasks = (
        sum(getattr(part, name) for part in steps) for name in ("weight", "squares", "tasks")
    )
    rate = sums[:, 0] / weight
    if tasks > 1:
        spread = np.maximum(0.0, sums[:, 2] - 2 * rate * sums[:, 1] + rate * rate * squares)
        errors = np.sqrt(spread * tasks / (tasks - 1)) / weight
    else:
        errors = np.full(len(rate), np.nan)
    # edges at which the rate does not change are left out: one task hit less and another one more
    new = np.append(True, np.abs(np.diff(rate)) > ONE_POINT)
    return SelectionCurve(np.append(starts[new], end), rate[new], errors[new])


# Pieces whose utilities are looked at together: a few megabytes.
BLOCK = 128


@dataclass(kw_only=True, eq=False, repr=False)
class ConjointPath(ConjointModel):
    """Part-worths from choices for every C up to `C_max`, exactly.

    Parameters
    ----------
    C_max
        Where paths end; `inf` for all of them.
    C
        The C in use, until `select` chooses one; None is the end of the paths.
    pooling, shrinkage, orders, n_jobs
        As for `ConjointSVM`. With pooling="individual" every respondent has their own path.
    time_limit
        Stop a path after so many seconds; `C_end_` is then less than C_max.

    Attributes
    ----------
    paths_ : the `pqp.Path` of everyone, or the only one; `certify()` proves them.
    solved_by_ : for each of them "dual", or "primal" where float64 failed on the dual program.
    breakpoints_ : where any of them bends.
    C_, C_end_ : the C in use, and the last one all paths know.
    part_worths_, individual_part_worths_, common_part_worths_, importances_ : at C_.

    >>> from ranking.conjoint import example_study
    >>> train, held = example_study().split_holdout()
    >>> path = ConjointPath(C_max=10).fit(train)
    >>> curve = path.select(held)
    >>> bool(curve.best == curve.at(path.C_) == path.score(held))
    True
    """

    kind: ClassVar[str] = "Conjoint"

    C_max: float = 10.0
    C: float | None = None
    time_limit: float | None = None

    @rounding_remedy("lower C_max")
    def fit(self, study: ConjointStudy, y: None = None) -> "ConjointPath":
        """Trace the path for the tasks of a study that are not held out."""
        C_max = end_of_path(self.C_max, self.C)
        require_pooling(self.pooling, self.shrinkage)
        self.programs_ = programs_of(study, self.pooling, self.shrinkage, self.orders)
        self._learn_names(study)
        tasks = (delayed(trace)(program, C_max, self.time_limit) for program in self.programs_)
        traced = list(Parallel(n_jobs=self.n_jobs)(tasks))
        self.paths_ = [path for path, _ in traced]
        self.solved_by_: tuple[str, ...] = tuple(form for _, form in traced)
        if not all(len(path.segments) for path in self.paths_):
            message = "a path has no piece after {found} seconds"
            raise DataError(message, argument="time_limit", found=self.time_limit, remedy="raise {argument}")
        self.C_ = self._checked(self.C_end_ if self.C is None else self.C)
        return self

    @property
    def path_(self) -> pqp.Path:
        """The only path there is."""
        check_is_fitted(self)
        if len(self.paths_) > 1:
            raise AttributeError(f"there are {len(self.paths_)} paths, one per respondent; see paths_")
        return self.paths_[0]

    @property
    def breakpoints_(self) -> Array:
        """The values of C at which some path bends, ascending."""
        check_is_fitted(self)
        return np.unique(np.concatenate([np.array(path.breakpoints, dtype=float) for path in self.paths_]))

    @property
    def C_end_(self) -> float:
        """The largest C all paths know; of paths without end the last bend."""
        end = min(float(path.hi) for path in self.paths_)
        return max(float(path.segments[-1].lo) for path in self.paths_) if np.isinf(end) else end

    def certify(self) -> list[pqp.Certificate]:
        """Prove all paths in exact arithmetic, or raise `pqp.CertificateError`; returns the certificates."""
        check_is_fitted(self)
        return list(Parallel(n_jobs=self.n_jobs)(delayed(pqp.Path.certify)(path) for path in self.paths_))

    def individual_part_worths_at(self, C: float) -> pd.DataFrame:
        """Return the part-worths at one C, one row per respondent."""
        return pd.DataFrame(self._individual(C), index=self.respondents_, columns=self.space_.columns)

    def part_worths_at(self, C: float) -> pd.DataFrame:
        """Return the mean part-worths at one C: attribute, level, part_worth."""
        mean = weighted_mean(self.individual_part_worths_at(C), self.weights_.to_numpy())
        return mean.to_frame("part_worth")

    def at(self, C: float) -> ConjointSVM:
        """Return the estimator at one C, fitted."""
        shared = ("pooling", "shrinkage", "orders", "n_jobs")
        model = ConjointSVM(self._checked(C), **{name: getattr(self, name) for name in shared})
        for name in ("respondents_", "space_", "weights_"):
            setattr(model, name, getattr(self, name))
        model.duality_gap_ = None
        model.solved_by_ = self.solved_by_
        return model._keep(self._individual(C), self._common(C))

    def part_worth_lines(self) -> PartWorthLines:
        """Return all part-worths as lines in C, one respondent after the other, or one row for all.

        What follows from them at every C: `first_choice_steps`, `importance_orders`, `PartWorthLines.along`.
        """
        check_is_fitted(self)
        pairs = zip(self.programs_, self.paths_, strict=True)
        lines = tuple(line for program, path in pairs for line in worth_lines(program, path))
        if self.pooling == "aggregate":
            return PartWorthLines(lines, self.space_, pd.Index(["everyone"]), np.ones(1))
        return PartWorthLines(lines, self.space_, self.respondents_, self.weights_.to_numpy())

    def select(self, study: ConjointStudy, metric: str = "hit_rate") -> SelectionCurve:
        """Choose C by the hit rate in the tasks of a study at every C; `C_` becomes the best."""
        if metric != "hit_rate":
            raise must_be("metric", "'hit_rate'", found=repr(metric))
        curve = hit_rate_curve(self.hit_steps(study))
        self.C_ = curve.C_best
        return curve

    def hit_steps(self, study: ConjointStudy) -> list[HitSteps]:
        """Return how often the tasks of a study are hit along every path that has some of them."""
        owner, choices = self._codes(study), study.choices
        has_own = self.pooling == "individual"
        code = owner[choices.respondent] if has_own else np.zeros(len(choices), dtype=int)
        found = []
        for number in np.unique(code).tolist():
            tasks = np.flatnonzero(code == number)
            mine = choices.take(tasks)
            rows = study.design[np.isin(choices.task_of_row, tasks)]
            lines = self._utility_lines(number, rows, owner[mine.respondent[mine.task_of_row]])
            found.append(count_hits(mine, study.weights.to_numpy()[mine.respondent], lines))
        if not found:
            raise DataError("{argument} has no task to count hits in", argument="study")
        return found

    @property
    def common_part_worths_(self) -> Array:
        """v_0 at C_, the prediction for new respondents; the mean where there is no v_0."""
        return self._common()

    def _utility_lines(self, number: int, design: Array, code: Integers) -> Iterator[PiecewiseLinear]:
        """Yield the utilities of alternatives as lines in C, some pieces of a path at a time."""
        program, path = self.programs_[number], self.paths_[number]
        B = readout(program, path)
        for begin in range(0, len(path.segments), BLOCK):
            images = path.images(B, slice(begin, begin + BLOCK))
            constant, slope = (_utilities(program, z, design, code) for z in (images.constant, images.slope))
            yield PiecewiseLinear(images.lo, images.hi, constant, slope)

    def _individual(self, C: float | None = None) -> Array:
        """Return the part-worths at one C, by default that in use, one row per respondent."""
        at = self._checked(self.C_ if C is None else C)
        found = [
            program.part_worths(z_at(program, path, at))
            for program, path in zip(self.programs_, self.paths_, strict=True)
        ]
        worths = np.vstack(found)
        return np.repeat(worths, len(self.respondents_), axis=0) if self.pooling == "aggregate" else worths

    def _common(self, C: float | None = None) -> Array:
        at = self._checked(self.C_ if C is None else C)
        if self.pooling != "individual":
            program = self.programs_[0]
            return program.common(z_at(program, self.paths_[0], at))
        return np.asarray(np.average(self._individual(at), axis=0, weights=self.weights_))

    def _checked(self, C: float) -> float:
        check_is_fitted(self)
        end = min(float(path.hi) for path in self.paths_)
        return on_path(C, (0.0, end), "raise C_max or time_limit")


def _utilities(program: Program, z: Array, design: Array, code: Integers) -> Array:
    """Return the utilities of alternatives for the respondents who saw them, one row per piece."""
    if program.shrinkage is None:
        return np.asarray(z @ design.T)
    d = program.d
    own = z[:, d:].reshape(len(z), program.rows.n_owners, d)
    # the extra row of zeros gives new respondents v_0 alone
    padded = np.concatenate([own, np.zeros((len(z), 1, d))], axis=1)
    return np.asarray(z[:, :d] @ design.T + np.einsum("pad,ad->pa", padded[:, code], design))
