"""images: B x, or B y, along a path is B times x, or y, on compact paths and on all others."""

import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import csr_array

import pqp
from pqp.errors import ProblemError
from pqp.records.trail import Trail
from tests.ordinal_duals import objects, ordinal_dual
from tests.refusals import refuses
from tests.strategies import instances
from tests.systems import FEW


def ranking_path(pieces=None):
    """A path without rows, with hundreds of pieces, lower and upper limits that move."""
    random = np.random.default_rng(0)
    pairs = [(i, j) for i in range(16) for j in range(16, 32)]
    X = random.normal(size=(32, 3)) + np.repeat([[0.4], [0.0]], 16, axis=0)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    weights = random.uniform(0.5, 2, len(pairs))
    problem = pqp.ParametricQP(pqp.PairGram(K, pairs), -np.ones(len(pairs)), lower=0, upper=pqp.mu * weights)
    return pqp.solve_path(problem, (0, 50), max_pieces=pieces)


def random_matrix(rows, columns):
    return np.random.default_rng(1).integers(-2, 3, (rows, columns)).astype(float)


def assert_images_are_products(path, B, part="x"):
    images = path.images(B) if part == "x" else path.multiplier_images(B)
    optimal = [segment for segment in path.segments if segment.status == "optimal"]
    assert len(images) == len(optimal)
    for k, segment in enumerate(optimal):
        assert (images.lo[k], images.hi[k]) == (float(segment.lo), float(segment.hi))
        for found, line in zip((images.constant[k], images.slope[k]), getattr(segment, part), strict=True):
            product = B @ line.astype(float)
            np.testing.assert_allclose(found, product, rtol=1e-11, atol=1e-11 * (1 + abs(product).max()))


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
    assert_images_are_products(path, random_matrix(2, path.problem.n))
    if path.problem.m:
        assert_images_are_products(path, random_matrix(2, path.problem.m), "y")


@pytest.mark.parametrize("ordered", [False, True])
def test_images_along_a_compact_path_with_rows_need_no_piece_completed(ordered, monkeypatch):
    path = pqp.solve_path(ordinal_dual(*objects(150, 7, 5), kernel="rbf", ordered=ordered), (0, 1e4))
    assert len(path.segments) > 300  # more than are summed up at once
    assert_images_are_products(path, random_matrix(3, path.problem.n))
    assert_images_are_products(path, random_matrix(3, path.problem.m), "y")
    monkeypatch.setattr(Trail, "solution", lambda *_: pytest.fail("a piece was completed"))
    path.images(np.ones((1, path.problem.n)))
    path.multiplier_images(np.ones((1, path.problem.m)))


def test_images_of_what_was_eliminated_or_merged_or_follows_are_products():
    """A free variable is eliminated, a row limits one variable, a slack makes a row soft, one is soft."""
    problem = pqp.ParametricQP(
        np.diag([1, 1, 1, 0]),
        [-2 - pqp.mu, -3, -1, 2],
        A=[[1, 1, 1, 0], [0, 1, 0, 0], [1, 0, 2, 1], [1, 1, 0, 0]],
        row_lower=[-np.inf, -np.inf, 1 + pqp.mu, -1],
        row_upper=[4, 2 - pqp.mu / 4, np.inf, 1],
        lower=[-np.inf, 0, 0, 0],
        penalty=[np.inf, np.inf, np.inf, 1],
    )
    path = pqp.solve_path(problem, (-8, 8))
    assert len(path.segments) > 2
    assert_images_are_products(path, np.eye(4))
    assert_images_are_products(path, np.eye(4), "y")


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
    with refuses(ProblemError, "mu", found=51):
        ranking_path().images(np.ones((1, 256))).at(51)


def test_columns_of_B_are_counted():
    with refuses(ProblemError, "B", found="shape (1, 3)"):
        ranking_path().images([[1, 2, 3]])
    with refuses(ProblemError, "B", found="shape (1, 3)"):
        ranking_path().multiplier_images([[1, 2, 3]])
