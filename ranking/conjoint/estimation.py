"""Estimation: whatever makes part-worths of a study, as a function that can go to other processes.

Room: an estimator or a function in, a function from studies to part-worths out. Estimates nothing.
May touch: `errors`, `study`; scikit-learn's `clone`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from sklearn.base import clone

from ranking.conjoint.study import ConjointStudy
from ranking.errors import DataError

# A study in, a table or series of part-worths with its columns out.
Fit: TypeAlias = Callable[[ConjointStudy], Any]


@dataclass(frozen=True)
class Estimate:
    """The part-worths of all respondents by an estimator, which is left as it is."""

    model: Any

    def __call__(self, study: ConjointStudy) -> Any:
        """Return the part-worths that a clone of the estimator finds in a study."""
        return clone(self.model).fit(study).individual_part_worths_


def as_fit(fit: Any) -> Fit:
    """Return a function from studies to part-worths, from one, or from an estimator such as `ConjointSVM`."""
    if isinstance(fit, type) or not (callable(fit) or hasattr(fit, "fit")):
        raise DataError(
            "fit must be an estimator, such as ConjointSVM(C=0.1), or a function from a study to its "
            f"part-worths, got {fit!r:.60}"
        )
    return Estimate(fit) if hasattr(fit, "fit") else fit
