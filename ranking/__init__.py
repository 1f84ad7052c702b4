"""Ranking models whose whole regularisation path is computed in one call, traced by `pqp`.

`RankSVMPath` and `RankSVMPathCV` rank for every C, `RankSVM` for one, from labels, pairs or graphs of
preferences. `OrdinalSVM`, `OrdinalSVMPath` and `OrdinalSVMPathCV` do the same for ordered levels;
`ConjointSVM`, `ConjointPath` and `ConjointPathCV` for choices. `hastie_path` is an independent active-set
path to check them against.
"""

from ranking.conjoint import ConjointPath, ConjointPathCV, ConjointStudy, ConjointSVM
from ranking.core.graph import find_cycle, preference_graph, preference_pairs
from ranking.core.kernels import (
    difference_features,
    exterior_kernel,
    exterior_product_features,
    kernel_matrix,
)
from ranking.core.preferences import preferences_from_signs, retention_pairs
from ranking.errors import (
    ContradictionError,
    ConvergenceError,
    DataError,
    NotSeparableError,
    RankingError,
    SingularActiveSetError,
    StudyError,
)
from ranking.hastie import hastie_path
from ranking.io.letor import read_letor, write_letor
from ranking.ordinal import OrdinalSVM, OrdinalSVMPath, OrdinalSVMPathCV
from ranking.ranksvm.model import RankSVM
from ranking.ranksvm.path import RankSVMPath, RankSVMPathCV
from ranking.selection.choice_along_path import SelectionCurve

__all__ = [
    "ConjointPath",
    "ConjointPathCV",
    "ConjointSVM",
    "ConjointStudy",
    "ContradictionError",
    "ConvergenceError",
    "DataError",
    "NotSeparableError",
    "OrdinalSVM",
    "OrdinalSVMPath",
    "OrdinalSVMPathCV",
    "RankSVM",
    "RankSVMPath",
    "RankSVMPathCV",
    "RankingError",
    "SelectionCurve",
    "SingularActiveSetError",
    "StudyError",
    "difference_features",
    "exterior_kernel",
    "exterior_product_features",
    "find_cycle",
    "hastie_path",
    "kernel_matrix",
    "preference_graph",
    "preference_pairs",
    "preferences_from_signs",
    "read_letor",
    "retention_pairs",
    "write_letor",
]


def __dir__() -> list[str]:
    """Return the public names alone: submodules are found by their folders."""
    return __all__
