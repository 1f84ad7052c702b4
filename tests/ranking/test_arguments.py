"""arguments: bad labels and queries are named, as every function that takes them shows."""

import numpy as np
import pytest

import pqp
from ranking import (
    ConjointPath,
    ConjointSVM,
    OrdinalSVM,
    OrdinalSVMPath,
    RankSVM,
    RankSVMPath,
    preference_pairs,
)
from ranking.conjoint.data.example import example_study
from ranking.errors import DataError
from tests.refusals import refuses


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"y": [1, np.nan]}, r"y\[1\] is missing"),
            ({"y": np.ma.masked_array([1, 2], [False, True])}, r"y\[1\] is missing"),
            ({"y": [[1], [2]]}, r"y must be a vector, got shape \(2, 1\)"),
            ({"y": 3}, r"y must be a vector, got shape \(\)"),
            ({"y": ["low", "high"]}, r"y must be real numbers, got dtype .*'low', 'high'"),
            ({"y": [1, 2j]}, "y must be real numbers"),
            ({"y": [1, None]}, "y must be real numbers"),
            ({"y": [1, [2, 3]]}, "y must be a vector of numbers"),
            ({"y": [1, 2], "qid": [1]}, r"qid must be one value for each of 2 items, got shape \(1,\)"),
            ({"y": [1, 2], "qid": np.ones((2, 1))}, r"qid must be one value .* got shape \(2, 1\)"),
            ({"y": [1, 2], "qid": ["a", None]}, r"qid\[1\] is missing"),
            ({"y": [1, 2], "qid": [np.nan, 1.0]}, r"qid\[0\] is missing"),
            ({"y": [1, 2], "qid": np.ma.masked_array([1, 1], [True, False])}, r"qid\[0\] is missing"),
            ({"y": [1, 2], "qid": [[1], [2]]}, "qid must be a vector of hashable values"),
            ({"y": [1, 2], "qid": 5}, "qid must be a vector of hashable values, got 5"),
            ({"y": [1, 2], "reduction": "half"}, "reduction must be one of full, levels, .* got 'half'"),
            (
                {"y": [1, 2], "representative": "last"},
                "representative must be a function or 'first' .* got 'last'",
            ),
        ],
    )
    def test_it_is_named_with_what_was_found(self, arguments, message):
        with pytest.raises(DataError, match=message):
            preference_pairs(**arguments)

    def test_bad_data_are_value_errors(self):
        with refuses(ValueError, "y[0]", match="missing"):
            preference_pairs([np.nan])


@pytest.mark.parametrize(
    "model", [RankSVM(), RankSVMPath(), OrdinalSVM(), OrdinalSVMPath(), ConjointSVM(), ConjointPath()]
)
def test_rounding_errors_are_met_by_a_parameter_that_the_model_has(model, monkeypatch):
    def fails(*_, **__):
        raise pqp.NumericalTroubleError("too large", **pqp.errors.EXACT_REMEDY)

    for name in ("solve", "solve_path"):
        monkeypatch.setattr(pqp, name, fails)
    is_conjoint = isinstance(model, ConjointSVM | ConjointPath)
    data = (example_study(),) if is_conjoint else ([[0.0], [1.0], [3.0]], [1, 2, 3])
    with pytest.raises(pqp.NumericalTroubleError) as caught:
        model.fit(*data)
    assert "arithmetic" not in str(caught.value)
    assert caught.value.remedy.removeprefix("lower ") in model.get_params()
