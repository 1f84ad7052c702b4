"""images: B x along a path is B times x, on compact paths and on all others."""

import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import csr_array

import pqp
from pqp.errors import ProblemError
from tests.strategies import instances
from tests.walking import FEW


def ranking_path(pieces=None):
    """A path without rows, with hundreds of pieces, lower and upper limits that move."""
    random = np.random.default_rng(0)
    pairs = [(i, j) for i in range(16) for j in range(16, 32)]
    X = random.normal(size=(32, 3)) + np.repeat([[0.4], [0.0]], 16, axis=0)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    weights = random.uniform(0.5, 2, len(pairs))
    problem = pqp.ParametricQP(pqp.PairGram(K, pairs), -np.ones(len(pairs)), lower=0, upper=pqp.mu * weights)
    return pqp.solve_path(problem, (0, 50), max_pieces=pieces)


def assert_images_are_products(path, B):
    images = path.images(B)
    optimal = [segment for segment in path.segments if segment.status == "optimal"]
    assert len(images) == len(optimal)
    for k, segment in enumerate(optimal):
        assert (images.lo[k], images.hi[k]) == (float(segment.lo), float(segment.hi))
        for found, x in zip((images.constant[k], images.slope[k]), segment.x, strict=True):
            np.testing.assert_allclose(found, B @ x.astype(float), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("convert", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_images_along_a_compact_path_are_products(convert):
    path = ranking_path()
    assert len(path.segments) > 300  # more than are summed up at once
    assert_images_are_products(
        path, convert(np.random.default_rng(1).integers(-1, 2, (5, path.problem.n)).astype(float))
    )


@FEW
@given(instance=instances())
def test_images_on_any_problem_are_products(instance):
    path = pqp.solve_path(*instance)
    assert_images_are_products(path, np.random.default_rng(1).integers(-2, 3, (2, path.problem.n)))


def test_some_pieces_are_those_of_all():
    path, B = ranking_path(), np.ones((1, 256))
    some, every = path.images(B, slice(100, 120)), path.images(B)
    np.testing.assert_allclose(some.constant, every.constant[100:120], rtol=1e-12)
    assert (some.lo == every.lo[100:120]).all()


def test_image_at_a_mu_is_that_of_the_point():
    path, B = ranking_path(), np.random.default_rng(1).normal(size=(3, 256))
    for mu in (0.0, 0.37, 50.0):
        np.testing.assert_allclose(path.images(B).at(mu), B @ path.x(mu), rtol=1e-12, atol=1e-12)


def test_image_outside_the_path_is_refused():
    with pytest.raises(ProblemError, match="no optimal piece"):
        ranking_path().images(np.ones((1, 256))).at(51)


def test_columns_of_B_are_counted():
    with pytest.raises(ProblemError, match=r"B must have 256 columns.* got shape \(1, 3\)"):
        ranking_path().images([[1, 2, 3]])
