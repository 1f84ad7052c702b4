"""Published ordinal data: paths proved exactly, generation equal to the full solution, SVM of two levels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ranking import OrdinalSVM, OrdinalSVMPath
from tests.data_folder import needs
from tests.ranking_data import ORDINAL, ordinal

SETS = [pytest.param(name, marks=needs(f"ordinal_{name}")) for name in ORDINAL]
QUICK = [pytest.param(name, marks=needs(f"ordinal_{name}")) for name in ("era", "pyrimidines")]
# A proof of the path of 4177 objects takes too long.
PROVED = [param for param in SETS if param.values != ("abalone",)]
# Whole numbers and short decimals tie exactly, which standardising would spoil in the last bit; others
# differ so much in size that they have to be standardised.
TIED = ("era", "esl", "lev", "balance_scale", "pyrimidines")


@pytest.mark.parametrize("name", QUICK)
def test_a_short_path_is_proved_exactly(name):
    data = ordinal(name, is_raw=True)
    path = OrdinalSVMPath(C_max=0.1).fit(data.X, data.y)
    assert "Proved in exact rationals" in str(path.path_.certify())


@pytest.mark.slow
@pytest.mark.parametrize("name", PROVED)
def test_the_path_is_proved_exactly(name):
    data = ordinal(name, is_raw=name in TIED)
    path = OrdinalSVMPath(C_max=1).fit(data.X, data.y)
    assert "Proved in exact rationals" in str(path.path_.certify())


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", SETS)
def test_generation_is_the_full_solution(name, kernel):
    data = ordinal(name)
    options = {"C": 1 / data.X.shape[1] if kernel == "linear" else 1.0, "kernel": kernel, "gamma": "auto"}
    whole = OrdinalSVM(**options).fit(data.X, data.y)
    part = OrdinalSVM(**options, working_set="extremes", add=200).fit(data.X, data.y)
    assert part.objective_ == pytest.approx(whole.objective_, rel=1e-9)
    assert abs(part.duality_gap_) <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", PROVED)
def test_the_path_is_optimal_at_many_C(name, kernel):
    data = ordinal(name)
    path = OrdinalSVMPath(C_max=100, kernel=kernel, gamma="auto").fit(data.X, data.y)
    gaps = [path.at(C).duality_gap_ for C in np.geomspace(1e-4, 100, 30)]
    assert_allclose(gaps, 0.0, atol=1e-9)
