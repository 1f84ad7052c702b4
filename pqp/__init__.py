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

from importlib import import_module
from typing import TYPE_CHECKING

from pqp import catalog, errors
from pqp.errors import (
    CertificateError,
    ExplainedError,
    FileFormatError,
    InternalError,
    LimitError,
    NoSolutionError,
    NotConvexError,
    NumericalTroubleError,
    PQPError,
    ProblemError,
)
from pqp.files import load_path, load_problem, save_problem
from pqp.lcp.pivot_log import PivotLog
from pqp.lcp.solve_lcp import LCPAnswer, solve_lcp
from pqp.model.affine import Affine, mu
from pqp.model.hessian import Gram, PairGram
from pqp.model.problem import ParametricQP, paper_form
from pqp.path.path import Path
from pqp.records.segment import Point, Segment
from pqp.records.states import Basis
from pqp.solver import solve, solve_path
from pqp.stopping import Progress

if TYPE_CHECKING:
    from pqp.certificate import Certificate
    from pqp.model.symbolic import minimize, soft
    from pqp.path.images import Images

__all__ = [
    "Affine",
    "Basis",
    "Certificate",
    "CertificateError",
    "ExplainedError",
    "FileFormatError",
    "Gram",
    "Images",
    "InternalError",
    "LCPAnswer",
    "LimitError",
    "NoSolutionError",
    "NotConvexError",
    "NumericalTroubleError",
    "PQPError",
    "PairGram",
    "ParametricQP",
    "Path",
    "PivotLog",
    "Point",
    "ProblemError",
    "Progress",
    "Segment",
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

# Names whose modules are slow to import (sympy, numba, the checker), imported when first asked for.
_LAZY = {
    "Certificate": "pqp.certificate",
    "Images": "pqp.path.images",
    "minimize": "pqp.model.symbolic",
    "soft": "pqp.model.symbolic",
}


def __getattr__(name: str) -> object:
    """Return a public name that is imported only when it is used."""
    if name not in _LAZY:
        raise AttributeError(f"module 'pqp' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    """Return the public names alone: submodules are found by their folders."""
    return __all__
