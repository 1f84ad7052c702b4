"""students: plausible scores and grades, the same for the same seed, that two exam scores do not separate."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import pqp
from ranking import DataError
from ranking.core.kernels import kernel_matrix
from ranking.ordinal.students import CUTS, GRADES, SHARES, students
from tests.refusals import refuses

CLASS = students()
EXAMS = CLASS[["midterm", "final"]].to_numpy(dtype=float)
CODES = CLASS["grade"].cat.codes.to_numpy()


def wanted(features, codes, thresholds=3):
    """Rows a with a(w, p) >= 1: a student of grade k is above p_1, ..., p_k and below the others."""
    rows = [
        (1 if k < code else -1) * np.concatenate([x, -np.eye(thresholds)[k]])
        for x, code in zip(features, codes, strict=True)
        for k in range(thresholds)
    ]
    return np.array(rows)


def can_be_separated(features, codes):
    """Whether some score w·x and thresholds p keep all margins, by a linear program of its own."""
    A = wanted(features, codes)
    found = linprog(np.zeros(A.shape[1]), -A, -np.ones(len(A)), bounds=(None, None), method="highs")
    return found.status == 0


def test_there_are_44_students_with_two_scores_and_a_grade():
    assert CLASS.shape == (44, 3)
    assert list(CLASS.columns) == ["midterm", "final", "grade"]


def test_scores_are_whole_numbers_from_0_to_100():
    many = students(5000, random_state=3)[["midterm", "final"]]
    assert (many.dtypes == np.int64).all()
    assert many.to_numpy().min() >= 0
    assert many.to_numpy().max() <= 100


def test_grades_are_ordered_and_all_there():
    assert CLASS["grade"].dtype == pd.CategoricalDtype(["D", "C", "B", "A"], ordered=True)
    assert set(CLASS["grade"]) == set(GRADES)


def test_no_line_separates_the_grades():
    assert not can_be_separated(EXAMS, CODES)


def test_the_hard_margin_problem_is_infeasible():
    A = wanted(EXAMS, CODES)
    P = np.diag([1.0, 1.0, 0.0, 0.0, 0.0])
    assert pqp.solve(pqp.ParametricQP(P, np.zeros(5), A, row_lower=1), 0).status == "infeasible"


def test_the_check_of_separability_knows_separable_grades():
    totals = EXAMS.sum(axis=1, keepdims=True)
    assert can_be_separated(totals, np.digitize(totals.ravel(), [110, 130, 150]))


def test_a_narrow_gaussian_kernel_separates_the_grades():
    assert can_be_separated(kernel_matrix(EXAMS, kernel="rbf", gamma=1 / (2 * 7**2)), CODES)


def test_some_quiz_score_from_0_to_100_explains_every_grade():
    many = students(5000, random_state=3)
    known = SHARES[0] * many["midterm"] + SHARES[1] * many["final"]
    codes = many["grade"].cat.codes.to_numpy()
    least, most = np.append(-np.inf, CUTS)[codes], np.append(CUTS, np.inf)[codes]
    assert (known + 100 * SHARES[2] >= least).all()
    assert (known < most).all()


def test_a_seed_names_the_students():
    assert students(10, random_state=5).equals(students(10, random_state=5))
    assert not students(10, random_state=5).equals(students(10, random_state=6))


@pytest.mark.parametrize("n", [0, -1, 2.5, "44"])
def test_a_senseless_number_of_students_is_refused(n):
    with refuses(DataError, "n", expected="a positive integer"):
        students(n)
