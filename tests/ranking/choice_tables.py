"""Small tables of choices for tests of conjoint studies, and what tests compare of studies and errors."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from ranking import ConjointStudy

ROLES = {"respondent": "who", "task": "task", "chosen": "taken", "alternative": "alt"}
COLOURS = ("blue", "green", "red")


def table(**changes):
    """Two respondents, two tasks each, three alternatives each, the cheapest always taken."""
    frame = pd.DataFrame(
        {
            "who": np.repeat([7, 8], 6),
            "task": np.tile(np.repeat([11, 12], 3), 2),
            "alt": np.tile([1, 2, 3], 4),
            "colour": ["red", "blue", "green", "blue", "red", "red"] * 2,
            "price": [10, 20, 30, 20, 10, 30] * 2,
            "taken": [1, 0, 0, 0, 1, 0] * 2,
        }
    )
    return frame.assign(**changes)


def study(frame=None, attributes=("colour", "price"), **roles):
    """The study of a table under its usual names."""
    return ConjointStudy.from_frame(
        table() if frame is None else frame, attributes=attributes, **{**ROLES, **roles}
    )


def with_cell(row, column, value, frame=None):
    """A table with one cell changed."""
    frame = (table() if frame is None else frame).astype(object)
    frame.loc[row, column] = value
    return frame


def parts(finding):
    """The parts of an error that are data, without those that it does not have."""
    names = "argument column row respondent task alternative found expected setting"
    return {name: value for name in names.split() if (value := getattr(finding, name)) is not None}


def assert_same(one, other, extras=True):
    """Two studies are the same if everything they hand out is."""
    assert one.attributes == other.attributes
    assert one.columns.equals(other.columns)
    assert one.design.dtype == other.design.dtype
    np.testing.assert_array_equal(one.design, other.design)
    assert one.respondents.tolist() == other.respondents.tolist()
    assert one.weights.tolist() == other.weights.tolist()
    assert one.has_none == other.has_none
    pd.testing.assert_frame_equal(one.tasks, other.tasks)
    for name in ("respondent", "task", "size", "chosen"):
        assert getattr(one.choices, name).tolist() == getattr(other.choices, name).tolist()
    assert one.alternative.tolist() == other.alternative.tolist()
    if extras:
        pd.testing.assert_frame_equal(one.extras, other.extras, check_dtype=False)


@st.composite
def frames(draw):
    """Long data with tasks of different sizes, a none option here and there, weights and holdout marks."""
    names = draw(st.sampled_from([(1, 2, 10), ("r1", "r2", "r10"), ("b", "A", "c")]))
    rows = []
    for who in names[: draw(st.integers(1, 3))]:
        weight = draw(st.sampled_from([0.5, 1.0, 2.0]))
        for task in range(1, draw(st.integers(1, 3)) + 1):
            size, has_none = draw(st.integers(2, 4)), draw(st.booleans())
            taken, held = draw(st.integers(0, size - 1)), draw(st.integers(0, 1))
            for place in range(size):
                is_none = has_none and place == size - 1
                rows.append(
                    {
                        "who": who,
                        "task": f"T{task}",
                        "alt": place + 1,
                        "colour": None if is_none else draw(st.sampled_from(COLOURS)),
                        "price": None if is_none else draw(st.sampled_from([9, 12, 15])),
                        "speed": None if is_none else draw(st.sampled_from([0.5, 1, 2.25])),
                        "none": int(is_none),
                        "taken": int(place == taken),
                        "weight": weight,
                        "held": held,
                    }
                )
    return pd.DataFrame(rows)


DRAWN = {"none": "none", "weight": "weight", "holdout": "held"}
ATTRIBUTES = {"colour": COLOURS, "price": (9, 12, 15), "speed": "linear"}
