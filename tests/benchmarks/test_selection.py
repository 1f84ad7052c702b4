"""Choosing C by five folds: the whole path of every fold against twenty fits of every fold.

The fits are those of `RankSVM`, the fastest single-C solver of the project for this loss, exact too.
The retention data, four minutes per fold and side, run by `python -m tests.benchmarks.retention`.

Run with `OMP_NUM_THREADS=1 pytest -m benchmark -n 0 tests/benchmarks/test_selection.py`.
"""

import numpy as np
import pytest

from ranking import RankSVM, RankSVMPath
from ranking.ranksvm.path import fold_curve, split_rows
from ranking.selection.choice_along_path import average_curves
from tests.benchmarks.table import Row, report, require_target
from tests.benchmarks.timing import race, require_one_thread
from tests.data_folder import needs
from tests.ranking_data import zapien

FOLDS, LARGEST = 5, 1000.0
GRID = np.geomspace(1e-3, LARGEST, 20)


@pytest.mark.benchmark
@needs("mixture")
@pytest.mark.parametrize("reduction", ["tree", "full"])
def test_selection_on_whole_paths_is_faster_than_a_grid(reduction):
    """All values of C instead of twenty; the best one is at least as good as the best of the grid."""
    require_one_thread()
    data = zapien("mixture")
    folds = split_rows(FOLDS, data.y, None, 0)
    options = {"kernel": "rbf", "gamma": 1.0, "reduction": reduction}

    def ours():
        model = RankSVMPath(C_max=LARGEST, **options)
        return [fold_curve(model, data.X, data.y, None, fold, "pairwise_accuracy") for fold in folds]

    def theirs():
        return [[_accuracy(options, data, fold, C) for C in GRID] for fold in folds]

    result = race(ours, theirs, rounds=2)
    best, grid = average_curves(result.answer).best, np.mean(result.their_answer, axis=0).max()
    note = f"mean accuracy {best:.4f}, of the grid {grid:.4f}"
    row = report(
        Row(f"5 folds, mixture, {reduction}", "RankSVM, 20 C", result.ours, result.theirs, 1.0, note=note)
    )
    assert best >= grid - 1e-12
    require_target(row)


def _accuracy(options, data, fold, C):
    train, validation = fold
    model = RankSVM(C, **options).fit(data.X[train], data.y[train])
    return model.score(data.X[validation], data.y[validation])
