"""Exact, certified solution paths of parametric quadratic programs.

>>> import pqp
>>> from pqp import mu
>>> problem = pqp.ParametricQP(P=[[2, 0], [0, 2]], c=[-4, -6], A=[[1, 1]], row_upper=mu, lower=0)
>>> path = pqp.solve_path(problem, (-2, 8), arithmetic="exact")
>>> path
Path(4 pieces, exact: infeasible on [-2, 0); optimal on [0, 8])
>>> path(3).named
{'x1': Fraction(1, 1), 'x2': Fraction(2, 1)}
"""

from typing import TYPE_CHECKING, Any

from pqp import catalog, errors
from pqp.errors import (
    CertificateError,
    FileFormatError,
    InternalError,
    NoSolutionError,
    NotConvexError,
    NumericalTroubleError,
    PQPError,
    ProblemError,
)
from pqp.files import load_path, load_problem, save_problem
from pqp.lcp.solve_lcp import LCPAnswer, solve_lcp
from pqp.model.affine import mu
from pqp.model.hessian import Gram, PairGram
from pqp.model.problem import ParametricQP, paper_form
from pqp.path.path import Path
from pqp.records.states import Basis
from pqp.solver import solve, solve_path

if TYPE_CHECKING:
    from pqp.model.symbolic import minimize, soft

__all__ = [
    "Basis",
    "CertificateError",
    "FileFormatError",
    "Gram",
    "InternalError",
    "LCPAnswer",
    "NoSolutionError",
    "NotConvexError",
    "NumericalTroubleError",
    "PQPError",
    "PairGram",
    "ParametricQP",
    "Path",
    "ProblemError",
    "catalog",
    "errors",
    "load_path",
    "load_problem",
    "minimize",
    "mu",
    "paper_form",
    "save_problem",
    "soft",
    "solve",
    "solve_lcp",
    "solve_path",
]


def __getattr__(name: str) -> Any:
    """Return `minimize` or `soft`, which bring sympy with them, when they are first asked for."""
    if name not in ("minimize", "soft"):
        raise AttributeError(f"module 'pqp' has no attribute {name!r}")
    from pqp.model import symbolic as model

    return getattr(model, name)
