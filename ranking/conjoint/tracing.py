"""Tracing: the path of a program in C, and how z is read from its solutions.

The dual has bounds only, so that lines of z come at once for all pieces. Where float64 loses its way on the
dual, which is singular as soon as more choices than part-worths are at their margin, the program itself is
traced: it has the same z.

Room: a program and an interval of C in; a `pqp` path, z along it, and part-worths as lines in C, out.
May touch: `arrays`, `lines`, `cbc`, and `pqp`; scipy.
"""

from typing import Any

import numpy as np
from scipy.sparse import eye_array

import pqp
from ranking.arrays import Array
from ranking.conjoint.cbc import Program
from ranking.conjoint.lines import Lines


def trace(program: Program, C_max: float, time_limit: float | None = None) -> pqp.Path:
    """Return the path of a program from C = 0 on, through its dual if possible."""
    try:
        return pqp.solve_path(program.dual(), (0.0, C_max), time_limit=time_limit)
    except pqp.NumericalTroubleError:
        return pqp.solve_path(program.soft(), (0.0, C_max), time_limit=time_limit)


def readout(program: Program, path: pqp.Path) -> Any:
    """Return the sparse matrix B of z = B x, x being what the path has: z itself, or dual variables."""
    is_dual = path.problem.m == 0
    return program.readout if is_dual else eye_array(path.problem.n, format="csr")


def z_at(program: Program, path: pqp.Path, C: float) -> Array:
    """Return z at one C."""
    return np.asarray(readout(program, path) @ np.asarray(path.x(C), dtype=float))


def worth_lines(program: Program, path: pqp.Path) -> list[Lines]:
    """Return the part-worths of every owner as lines in C, on the pieces of the path."""
    images = path.images(readout(program, path))
    is_long = images.hi > images.lo
    lo, slope = images.lo[is_long], program.part_worths(images.slope[is_long])
    start = program.part_worths(images.constant[is_long]) + lo[:, None, None] * slope
    edges = np.append(lo, images.hi[-1])
    return [Lines(edges, start[:, owner], slope[:, owner]) for owner in range(start.shape[1])]
