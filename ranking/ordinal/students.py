"""Students: exam scores and grades of an invented class, like that of Izunaga et al. (2014), section 5.

Their instance, 44 undergraduates with grades in calculus, is not published. What makes it one that no line
separates is kept: the grade is that of a total in which quizzes count too, and the quiz score is not given.
"""

import numpy as np
import pandas as pd

from ranking.core.validation import whole_number

# Scores are percent. Abilities spread around a middle, and each score around the ability.
MIDDLE, SPREAD = 66.0, 13.0
# How far mid-term, end-of-term and quiz scores are from the ability, as standard deviations.
NOISE = (8.0, 8.0, 12.0)
# What the three count for in the total.
SHARES = (0.3, 0.4, 0.3)
GRADES = ("D", "C", "B", "A")
# The least total of C, B and A.
CUTS = (55.0, 65.0, 75.0)


def students(n: int = 44, random_state: int = 0) -> pd.DataFrame:
    """Return `midterm` and `final` scores of students, and their `grade`, ordered D < C < B < A.

    A score is a whole number from 0 to 100, normal around the student's ability; the grade is that of the
    total 0.3 midterm + 0.4 final + 0.3 quiz, and the quiz score is left out. Of few students some grade may
    be missing.

    >>> students().head(3)
       midterm  final grade
    0       67     73     B
    1       62     69     B
    2       47     52     D
    """
    # mid-term, end-of-term and quiz scores, one row per student, around their ability
    normal = np.random.default_rng(random_state).normal(size=(whole_number(n, "n"), 4))
    ability = MIDDLE + SPREAD * normal[:, :1]
    scores = np.clip(np.round(ability + NOISE * normal[:, 1:]), 0, 100).astype(np.int64)
    places = np.searchsorted(CUTS, scores @ SHARES, side="right")
    grade = pd.Categorical.from_codes(places, categories=pd.Index(GRADES), ordered=True)
    return pd.DataFrame({"midterm": scores[:, 0], "final": scores[:, 1], "grade": grade})
