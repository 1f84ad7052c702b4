"""The plane: objects with two features, and a grid of points around them at which a model is asked.

Room: a fitted model and two-dimensional rows in, points, names and grids out. Draws nothing.
May touch: `errors`, `arrays`, `data`, `canvas`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ranking.arrays import Array
from ranking.canvas import plain
from ranking.data import take_qid
from ranking.errors import DataError

# Room around the objects, as a share of what they cover.
MARGIN = 0.06


@dataclass(frozen=True, eq=False)
class Plane:
    """Objects in a plane and what the two features are called."""

    points: Array
    names: tuple[str, str]

    def require_one_each(self, y: Any) -> None:
        """Raise unless there is a label for every object."""
        if len(y) != len(self.points):
            raise DataError(f"y must hold one label for each of {len(self.points)} rows of X, got {len(y)}")


@dataclass(frozen=True, eq=False)
class Mesh:
    """The two coordinates of the points of a grid, and these points as rows for a model."""

    across: Array
    up: Array
    rows: Any

    def shaped(self, values: Array) -> Array:
        """Return one value a row as one a point of the grid."""
        return values.reshape(self.across.shape)


def plane_of(model: Any, X: Any) -> Plane:
    """Return rows of a model's two features as points."""
    X, _ = take_qid(X)
    points = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2 or getattr(model, "n_features_in_", 2) != 2:
        found = f"X has shape {points.shape}, the model {getattr(model, 'n_features_in_', 2)} features"
        raise DataError(f"X must have two columns, those the model was fitted to, to be drawn: {found}")
    if not np.isfinite(points).all():
        raise DataError(f"X[{np.isfinite(points).all(axis=1).argmin()}] must be finite to be drawn")
    names = getattr(model, "feature_names_in_", ("feature 1", "feature 2"))
    return Plane(points, (plain(str(names[0])), plain(str(names[1]))))


def mesh_around(model: Any, plane: Plane, grid: int) -> Mesh:
    """Return `grid` points a side, evenly around the objects."""
    if grid < 2:
        raise DataError(f"grid must be at least 2 points a side, got {grid}")
    low, high = plane.points.min(axis=0), plane.points.max(axis=0)
    room = np.where(high > low, MARGIN * (high - low), 1.0)
    sides = [np.linspace(a, b, grid) for a, b in zip(low - room, high + room, strict=True)]
    across, up = np.meshgrid(*sides)
    rows: Any = np.column_stack([across.ravel(), up.ravel()])
    if hasattr(model, "feature_names_in_"):
        rows = pd.DataFrame(rows, columns=model.feature_names_in_)
    return Mesh(across, up, rows)
