r"""Confounding: attributes that the tasks shown do not tell apart, whatever is chosen.

Let D hold the differences of alternatives of the same task. Part-worths v and v + z have the same utilities
in every task, but for a constant, if D z = 0. Always so are the z that add one number to all levels of an
attribute (and to the none option). An attribute is told apart from the others if on it every z is like that.

Room: a sheet in, names of attributes out. Looks at what was shown, not at choices.
May touch: `arrays`, `attributes`, `coding`, `sheet`.
"""

import numpy as np

from ranking.arrays import Array
from ranking.conjoint.coding import columns_of, design_of
from ranking.conjoint.sheet import Sheet

# Eigenvalues below this are round-off, columns having length 1; and entries of z, the largest being 1.
ZERO, STILL = 1e-9, 1e-6


def confounded(sheet: Sheet) -> list[str]:
    """Return the attributes whose levels, as they were shown together, could have other part-worths as well.

    Attributes that never differ within a task, and levels that were never shown, are not looked at.

    >>> from ranking.conjoint import example_study
    >>> confounded(example_study().sheet)
    []
    """
    D, owner = _differences(sheet)
    free = _kernel(D)
    return [
        name
        for name, attribute in sheet.attributes.items()
        if _is_moved(free[owner == name], attribute.is_linear)
    ]


def _differences(sheet: Sheet) -> tuple[Array, Array]:
    """Return the differences from the first alternative of every task, without idle columns, and whose."""
    design = np.asarray(design_of(sheet), dtype=float)
    first = sheet.choices.first[sheet.choices.task_of_row]
    D, owner = design - design[first], columns_of(sheet).get_level_values(0).to_numpy()
    differing = {name for name in sheet.attributes if D[:, owner == name].any()}
    kept = design.any(axis=0) & np.array(
        [name in differing or name not in sheet.attributes for name in owner]
    )
    return D[:, kept], owner[kept]


def _kernel(D: Array) -> Array:
    """Return a basis of all z with D z = 0, one a column."""
    lengths = np.linalg.norm(D, axis=0)
    scale = np.where(lengths > 0, lengths, 1.0)
    values, vectors = np.linalg.eigh((D / scale).T @ (D / scale))
    free = vectors[:, values <= ZERO * max(1.0, float(values.max(initial=0.0)))] / scale[:, None]
    return np.asarray(free / np.abs(free).max(axis=0, initial=0.0))


def _is_moved(part: Array, is_linear: bool) -> bool:
    """Tell whether some z is not one number on all levels of an attribute, or not 0 on a linear one."""
    moved = part if is_linear or not len(part) else part - part.mean(axis=0)
    return bool((np.abs(moved) > STILL).any())
