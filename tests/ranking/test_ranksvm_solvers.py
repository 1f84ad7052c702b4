"""RankSVM at one C by every solver: the same model, its gap, and what users hand in and out."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from ranking import RankSVM
from ranking.errors import ConvergenceError, DataError
from ranking.ranksvm import solvers
from tests.refusals import refuses

SOLVERS = ["newton", "cutting_plane", "decomposition", "conditional_gradient"]


def data(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.digitize(X @ [1, -1, 0.5, 0] + rng.normal(size=n), [-1, 1]), rng.integers(0, 2, n)


@pytest.fixture
def unlisted(monkeypatch):
    """Let a list of pairs be an error."""

    def listed(*_):
        raise AssertionError("pairs were listed")

    monkeypatch.setattr(solvers, "preferences_from_labels", listed)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_agree_with_the_exact_one(solver, kernel):
    X, y, qid = data()
    exact = RankSVM(0.1, kernel=kernel, solver="exact").fit(X, y, qid)
    model = RankSVM(0.1, kernel=kernel, solver=solver, tol=1e-4).fit(X, y, qid)
    assert model.solved_by_ == solver
    assert 0 <= model.duality_gap_ <= 1e-4
    assert model.n_iter_ > 0
    assert exact.objective_ * (1 - 1e-9) <= model.objective_ <= exact.objective_ * (1 + 2e-4)
    # ‖f − f*‖² / 2 is at most the gap, since the objective is strongly convex
    scores = model.decision_function(X) - exact.decision_function(X)
    limit = np.sqrt(
        2e-4 * model.objective_ * np.linalg.norm(X @ X.T if kernel == "linear" else np.eye(40), 2)
    )
    assert np.abs(scores).max() <= limit * (1 if kernel == "linear" else np.sqrt(40))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_newton_knows_every_dual_variable(loss):
    X, y, qid = data()
    model = RankSVM(0.3, loss=loss, solver="newton", tol=1e-9).fit(X, y, qid)
    pairs = model.preferences_.pairs
    w = (X[pairs[:, 0]] - X[pairs[:, 1]]).T @ model.alpha_
    assert (model.alpha_ >= 0).all()
    if loss == "hinge":
        assert model.alpha_.max() <= 0.3 * (1 + 1e-12)
    assert_allclose(w, model.coef_, atol=1e-3)
    assert_allclose(X.T @ model.dual_coef_, w, atol=1e-9)
    exact = RankSVM(0.3, loss=loss, solver="exact").fit(X, y, qid)
    assert_allclose(model.coef_, exact.coef_, atol=1e-4)


def test_solvers_that_keep_sums_only_say_so():
    X, y, qid = data()
    model = RankSVM(0.01, solver="conditional_gradient", tol=0.05).fit(X, y, qid)
    with pytest.raises(AttributeError, match="dual_coef_"):
        model.alpha_  # noqa: B018


def test_the_linear_program_is_another_model_with_coefficients_of_rows():
    X, y, qid = data()
    model = RankSVM(0.5, kernel="rbf", solver="linear_program").fit(X, y, qid)
    assert (model.dual_coef_ >= 0).all()
    assert abs(model.duality_gap_) <= 1e-8
    pairs = model.preferences_.pairs
    scores = model.decision_function(X)
    slack = np.maximum(0, 1 - scores[pairs[:, 0]] + scores[pairs[:, 1]])
    assert model.objective_ == pytest.approx(model.dual_coef_.sum() + 0.5 * slack.sum(), rel=1e-9)
    linear = RankSVM(0.5, solver="linear_program").fit(X, y, qid)
    assert_allclose(linear.coef_, X.T @ linear.dual_coef_)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.usefixtures("unlisted")
def test_many_pairs_are_never_listed(loss):
    X, y, qid = data(n=3000)
    model = RankSVM(1e-3, loss=loss).fit(X, y, qid)
    assert model.solved_by_ == "newton"
    assert model.duality_gap_ <= 1e-6
    # as the loss of the signs would be: the model orders most pairs
    assert model.score(X, y, qid) > 0.75


def test_a_gram_matrix_in_blocks_gives_the_same_model(monkeypatch):
    X, y, qid = data(n=150)
    monkeypatch.setattr(solvers, "BLOCK_BYTES", 8 * 150 * 40)
    options = {"kernel": "rbf", "loss": "squared_hinge", "solver": "newton", "tol": 1e-10}
    whole = RankSVM(**options).fit(X, y, qid)
    blocks = RankSVM(**options, cache_size=0.01).fit(X, y, qid)
    assert_allclose(blocks.decision_function(X), whole.decision_function(X), atol=1e-5)
    assert blocks.duality_gap_ <= 1e-10


def test_sparse_features_give_the_same_model():
    X, y, qid = data(n=100)
    X[X < 0.5] = 0
    dense, sparse = (RankSVM(solver="newton", tol=1e-9).fit(rows, y, qid).coef_ for rows in (X, csr_array(X)))
    assert_allclose(sparse, dense, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_rescaled_features_give_the_rescaled_twin(loss, scale):
    # w/s on s·X with C/s² has the same scores, so values of the objective differ by s²
    X, y, qid = data(n=100)
    model = RankSVM(0.1, loss=loss, tol=1e-8).fit(X, y, qid)
    twin = RankSVM(0.1 / scale**2, loss=loss, tol=1e-8).fit(scale * X, y, qid)
    assert twin.objective_ * scale**2 == pytest.approx(model.objective_, rel=1e-7)
    assert_allclose(twin.coef_ * scale, model.coef_, atol=1e-3)


def test_a_fit_reports_its_steps_and_resumes_after_it_was_stopped():
    X, y, qid = data(n=200)
    steps = []
    model = RankSVM(5.0, solver="newton", max_iter=3, warm_start=True, tol=1e-8)
    with pytest.raises(ConvergenceError) as caught:
        model.fit(X, y, qid, callback=steps.append)
    assert caught.value.argument == "max_iter"
    assert [step.iteration for step in steps] == [0, 1, 2, 3]
    # saved and loaded in between, as a checkpoint is
    model = pickle.loads(pickle.dumps(model)).set_params(max_iter=None)
    resumed = []
    model.fit(X, y, qid, callback=resumed.append)
    assert resumed[0].objective < steps[0].objective
    assert model.duality_gap_ <= 1e-8


def test_an_interrupt_leaves_a_fit_that_can_go_on():
    X, y, qid = data(n=200)
    model = RankSVM(5.0, solver="newton", warm_start=True)

    def interrupt(step):
        if step.iteration == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, qid, callback=interrupt)
    first = []
    model.fit(X, y, qid, callback=first.append)
    cold = []
    RankSVM(5.0, solver="newton").fit(X, y, qid, callback=cold.append)
    assert first[0].objective < cold[0].objective
    assert model.objective_ == pytest.approx(
        RankSVM(5.0, solver="newton").fit(X, y, qid).objective_, rel=2e-6
    )


@pytest.mark.parametrize(
    ("parameters", "argument"),
    [
        ({"solver": "svm"}, "solver"),
        ({"solver": "decomposition", "loss": "squared_hinge"}, "solver"),
        ({"tol": 0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"cache_size": -1}, "cache_size"),
    ],
)
def test_wrong_parameters_are_named(parameters, argument):
    X, y, qid = data()
    with refuses(DataError, argument=argument):
        RankSVM(**parameters).fit(X, y, qid)
