"""Two paths that share no code, `hastie_path` in λ and `RankSVMPath` in C = 1/λ, are the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from ranking import RankSVMPath, SingularActiveSetError, hastie_path, kernel_matrix
from tests.data_folder import mixture, needs
from tests.ranking.test_hastie import SEEDS, random_problem, read

# Of breakpoints, relative, and of α in [0, 1].
SAME = 1e-8
# Places at which α is compared on long paths.
PLACES = 60


def assert_same(hastie, model):
    """The bends are the same, and between and at them α_Z = λα."""
    bends, end = hastie.lambdas[:-1], hastie.lambdas[-1]
    found = model.lambdas_[model.lambdas_ > end * (1 + SAME)]
    assert_allclose(found, bends, rtol=SAME)
    middles = (bends + np.append(bends[1:], end)) / 2
    for lambda_ in np.sort(np.concatenate([bends, middles]))[:: max(1, len(bends) // PLACES)]:
        scaled = lambda_ * model.alpha_at(min(1 / lambda_, model.C_max))
        assert_allclose(scaled, hastie.alpha_at(lambda_), atol=SAME)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@given(seed=SEEDS)
@settings(max_examples=25)
def test_paths_of_random_trees_are_the_same(kernel, seed):
    K, pairs = random_problem(seed, kernel)
    model = RankSVMPath(C_max=np.inf, kernel="precomputed").fit(K, pairs=pairs)
    assert_same(hastie_path(K, pairs), model)


class TestPublishedData:
    """The data of Zapien et al., Table 1, with the tree of their Figure 3 and a gaussian kernel."""

    @staticmethod
    def fitted(X, y, gamma, C_max=np.inf):
        model = RankSVMPath(C_max=C_max, kernel="rbf", gamma=gamma, reduction="tree").fit(X, y)
        return kernel_matrix(X, kernel="rbf", gamma=gamma), model

    @needs("mixture")
    def test_mixture(self):
        K, model = self.fitted(*mixture(), gamma=1.0)
        assert_same(hastie_path(K, model.preferences_.pairs), model)

    @pytest.mark.parametrize(
        ("name", "gamma"),
        [
            pytest.param("pima", 1 / 8, marks=needs("pima")),
            pytest.param("wdbc", 1 / 30, marks=needs("wdbc")),
        ],
    )
    def test_two_classes(self, name, gamma):
        K, model = self.fitted(*read(name), gamma)
        assert_same(hastie_path(K, model.preferences_.pairs), model)

    @needs("auto_mpg")
    def test_auto_mpg_as_long_as_the_active_set_is_regular(self):
        K, model = self.fitted(*read("auto_mpg"), 1 / 7, C_max=1.0)
        pairs = model.preferences_.pairs
        with pytest.raises(SingularActiveSetError) as error:
            hastie_path(K, pairs)
        assert error.value.lambda_ > 1  # beyond it, only `pqp` goes on: its path reaches λ = 1
        assert_same(hastie_path(K, pairs, lambda_min=error.value.lambda_), model)
