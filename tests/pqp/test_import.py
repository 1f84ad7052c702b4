"""What `import pqp` loads, and what it shows."""

import importlib
import subprocess
import sys

import pytest

import pqp

# Slow to import, each needed for some tasks only.
HEAVY = ("numba", "pandas", "matplotlib", "sympy", "networkx", "sklearn", "joblib")


def modules_loaded_by(code: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter has loaded after some code."""
    listing = f"{code}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_nothing_heavy():
    assert not modules_loaded_by("import pqp") & set(HEAVY)


def test_stating_a_problem_and_solving_it_exactly_loads_nothing_heavy():
    code = (
        "import pqp\n"
        "problem = pqp.ParametricQP([[2]], [-4], A=[[1]], row_upper=pqp.mu, lower=0)\n"
        "pqp.solve_path(problem, (0, 3), arithmetic='exact').certify()"
    )
    assert not modules_loaded_by(code) & set(HEAVY)


def test_small_float_path_compiles_nothing():
    code = (
        "import numpy as np, pqp\n"
        "problem = pqp.ParametricQP(np.eye(20), -pqp.mu * np.arange(1, 21), lower=0, upper=1)\n"
        "path = pqp.solve_path(problem, (0, 3), arithmetic='float', method='revised')\n"
        "assert len(path.segments) > 20"
    )
    assert "numba" not in modules_loaded_by(code)


def test_dir_lists_the_public_names_alone():
    assert dir(pqp) == sorted(pqp.__all__)


@pytest.mark.parametrize("name", pqp.__all__)
def test_every_public_name_is_there_and_documented(name):
    assert getattr(pqp, name).__doc__


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'pqp' has no attribute 'solve_paths'"):
        pqp.solve_paths  # noqa: B018


@pytest.mark.parametrize("name", ["pqp.linalg.field", "pqp.revised.runner", "pqp.certificate"])
def test_submodules_can_be_imported(name):
    assert importlib.import_module(name).__name__ == name
