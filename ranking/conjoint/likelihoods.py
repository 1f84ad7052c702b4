r"""Likelihoods along paths: how probable the choices of a study are, at C after C.

Utilities of a large-margin model have no scale, so at every C the choices get the scale that makes them
likeliest: what is compared is how well utilities say the odds, not how large they happen to be. The root
likelihood is no step function of C. It is evaluated in the middle of cells, which are equally wide on a
logarithmic axis, and the curve has this value on the whole cell.

Room: fitted paths and the tasks to judge them by in, a curve out.
May touch: `errors`, `arrays`, `selection`, `calibration`, `path`, `study`.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ranking.arrays import Array
from ranking.conjoint.calibration import fit_scale, gaps_of, joined
from ranking.conjoint.path import ConjointPath
from ranking.conjoint.study import ConjointStudy
from ranking.errors import DataError
from ranking.selection import SelectionCurve, middle

# How many cells there are for a factor of ten, and for how many such factors below C_max.
CELLS, DECADES = 10, 3
# A path that should end at an edge may end this part of C before it.
ROUNDED = 1e-12


def likelihood_curve(judged: Sequence[tuple[ConjointPath, ConjointStudy]]) -> SelectionCurve:
    """Return the root likelihood of the choices of some studies, each by a path of its own.

    All of them together have one scale at every C. Standard errors are not known.
    """
    edges = cell_edges(float(judged[0][0].C_max), min(path.C_end_ for path, _ in judged))
    values = [_root_likelihood(judged, middle((lo, hi))) for lo, hi in pairwise(edges.tolist())]
    return SelectionCurve(edges, np.array(values), np.full(len(values), np.nan), is_exact=False)


def cell_edges(C_max: float, end: float) -> Array:
    """Return the edges of the cells of C that paths reach which should have gone on to C_max.

    >>> cell_edges(1.0, 1.0)[[0, 10, 20, 30]].round(12).tolist()
    [0.001, 0.01, 0.1, 1.0]
    """
    require_end(C_max)
    edges = C_max * 10.0 ** (-np.arange(CELLS * DECADES, -1, -1) / CELLS)
    reached = edges[edges <= end * (1 + ROUNDED)]
    if len(reached) < 2:
        raise DataError(f"a path ends at C = {end:g}, before C_max / 10^{DECADES}; raise time_limit")
    return np.asarray(reached)


def require_end(C_max: float) -> None:
    """Raise for paths without end."""
    if np.isinf(C_max):
        raise DataError(
            "C_max must be finite for metric='root_likelihood', which is evaluated at single C; got inf"
        )


def _root_likelihood(judged: Sequence[tuple[ConjointPath, ConjointStudy]], C: float) -> float:
    parts = [gaps_of(path.individual_part_worths_at(C), study) for path, study in judged]
    return fit_scale(*joined(parts)).root_likelihood
