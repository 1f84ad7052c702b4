"""What `import ranking` loads, and what it shows."""

import pytest

import ranking
from tests.pqp.test_import import modules_loaded_by

# Needed to draw, to write workbooks and pages, to read formulas, and by compiled code only.
HEAVY = {"matplotlib", "openpyxl", "jinja2", "sympy", "numba"}


@pytest.mark.parametrize("module", ["ranking", "ranking.plot", "ranking.conjoint_plots", "ranking.metrics"])
def test_import_loads_nothing_that_only_some_calls_need(module):
    assert not modules_loaded_by(f"import {module}") & HEAVY


def test_dir_lists_the_public_names_alone():
    assert dir(ranking) == sorted(ranking.__all__)


@pytest.mark.parametrize("name", ranking.__all__)
def test_every_public_name_is_there_and_documented(name):
    assert getattr(ranking, name).__doc__
