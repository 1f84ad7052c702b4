"""Published problems that are kept beside the repository, not in it; see the README.md of that folder."""

import csv
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import pqp

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
# The Maros-Meszaros files write "no limit" as a number of this size.
NO_LIMIT = 1e20


def needs(folder: str) -> pytest.MarkDecorator:
    """Skip tests whose data are not there."""
    place = DATA / folder
    return pytest.mark.skipif(not place.is_dir(), reason=f"the data folder {place} is absent")


@cache
def index(folder: str) -> dict[str, dict[str, str]]:
    """The index.csv of a folder: one record a problem, by name."""
    with (DATA / folder / "index.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def lcp(name: str) -> tuple[Any, Any, Any]:
    """M, q and the basic solutions, one a row (None if not enumerated), of a complementarity problem."""
    with np.load(DATA / "lcp" / "lcp.npz", allow_pickle=False) as archive:
        solutions = archive.get(f"{name}__z")
        return archive[f"{name}__M"], archive[f"{name}__q"], solutions


def maros_meszaros(name: str) -> pqp.ParametricQP:
    """A problem of the Maros-Meszaros test set, its rows with a single 1 written as bounds."""
    with np.load(DATA / "maros_meszaros" / f"{name}.npz", allow_pickle=False) as archive:
        numbers = {key: archive[key] for key in archive}
    n, m = numbers["shape"]
    P, A = (_dense(numbers, letter, (rows, n)) for letter, rows in (("P", n), ("A", m)))
    low = np.where(numbers["l"] <= -NO_LIMIT, -np.inf, numbers["l"])
    high = np.where(numbers["u"] >= NO_LIMIT, np.inf, numbers["u"])
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    is_bound = ((A != 0).sum(axis=1) == 1) & (A.max(axis=1, initial=0) == 1)
    for i in np.flatnonzero(is_bound):
        j = int(np.argmax(A[i]))
        lower[j], upper[j] = max(lower[j], low[i]), min(upper[j], high[i])
    rows = ~is_bound
    return pqp.ParametricQP(
        P, numbers["q"], A[rows], low[rows], high[rows], lower, upper, constant=float(numbers["r"])
    )


def _dense(numbers: dict[str, Any], letter: str, shape: tuple[int, int]) -> Any:
    parts = tuple(numbers[f"{letter}_{part}"] for part in ("data", "indices", "indptr"))
    return scipy.sparse.csc_matrix(parts, shape=shape).toarray()
