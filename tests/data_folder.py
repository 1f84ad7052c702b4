"""Published problems that are kept outside the repository; see the README.md of that folder."""

import csv
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import pqp

# Next to the repository, or above it where that is a worktree in a folder of worktrees.
_PLACES = [above / "shared" / "data" for above in Path(__file__).resolve().parents[2:]]
DATA = next((place for place in _PLACES if place.is_dir()), _PLACES[0])
# The Maros-Meszaros files write "no limit" as a number of this size.
NO_LIMIT = 1e20


def needs(folder: str) -> pytest.MarkDecorator:
    """Skip tests whose data are not there."""
    place = DATA / folder
    return pytest.mark.skipif(not place.is_dir(), reason=f"the data folder {place} is absent")


@cache
def index(folder: str) -> dict[str, dict[str, str]]:
    """The index.csv of a folder: one record per problem, by name."""
    with (DATA / folder / "index.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def lcp(name: str) -> tuple[Any, Any, Any]:
    """M, q and the basic solutions, one per row (None if not enumerated), of a complementarity problem."""
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


def maros_meszaros_path(name: str) -> tuple[pqp.ParametricQP, Any]:
    """A sparse problem of the Maros-Meszaros test set at mu = 0, and the direction its cost moves in."""
    numbers = _archive("maros_meszaros_paths", name)
    n, m = int(numbers["n"]), int(numbers["m"])
    P, A = (
        scipy.sparse.csr_array(
            tuple(numbers[f"{letter}_{part}"] for part in ("data", "indices", "indptr")), shape=(rows, n)
        )
        for letter, rows in (("P", n), ("A", m))
    )
    limits = (numbers[side] for side in ("row_lower", "row_upper", "lower", "upper"))
    return pqp.ParametricQP(P, numbers["c"], A, *limits, constant=float(numbers["r"])), numbers["d"]


def frontier_example() -> tuple[Any, Any, Any, Any]:
    """Mean, covariance, lower and upper limits of the ten assets of Bailey and Lopez de Prado (2013)."""
    table = np.loadtxt(DATA / "cla_markowitz10" / "CLA_Data.csv", delimiter=",", skiprows=1)
    return table[0], table[3:], table[1], table[2]


def orlib_portfolio(number: int) -> tuple[Any, Any, Any]:
    """Return mean, covariance and listed frontier, (mean, variance) per row, of an OR-Library portfolio."""
    numbers = _archive("orlib_portfolio", f"port{number}")
    return numbers["mu"], numbers["cov"], numbers["frontier"]


@cache
def online_qp(name: str) -> dict[str, Any]:
    """The arrays of a sequence of QPs; H, which may miss symmetry by its last bit, is made symmetric."""
    numbers = _archive("online_qp", name)
    return {**numbers, "H": (numbers["H"] + numbers["H"].T) / 2}


def diabetes() -> tuple[Any, Any]:
    """Features and target of the LARS diabetes data, centred, the features scaled to length one."""
    table = np.loadtxt(DATA / "diabetes_lars" / "diabetes.csv", delimiter=",", skiprows=1)
    centred = table - table.mean(axis=0)
    return centred[:, :-1] / np.linalg.norm(centred[:, :-1], axis=0), centred[:, -1]


def mixture() -> tuple[Any, Any]:
    """Points and classes -1, +1 of the mixture data, those of class -1 first."""
    table = np.loadtxt(DATA / "mixture" / "mixture.csv", delimiter=",", skiprows=1)
    table = table[np.argsort(table[:, 2], kind="stable")]
    return table[:, :2], np.where(table[:, 2] == 1, 1, -1)


def _archive(folder: str, name: str) -> dict[str, Any]:
    with np.load(DATA / folder / f"{name}.npz", allow_pickle=False) as archive:
        return {key: archive[key] for key in archive}


def _dense(numbers: dict[str, Any], letter: str, shape: tuple[int, int]) -> Any:
    parts = tuple(numbers[f"{letter}_{part}"] for part in ("data", "indices", "indptr"))
    return scipy.sparse.csc_matrix(parts, shape=shape).toarray()
