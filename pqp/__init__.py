"""Exact, certified solution paths of parametric quadratic programs."""

from pqp.affine import mu
from pqp.hessian import Gram, PairGram
from pqp.problem import ParametricQP, paper_form
from pqp.solving import solve, solve_path

__all__ = ["Gram", "PairGram", "ParametricQP", "mu", "paper_form", "solve", "solve_path"]
