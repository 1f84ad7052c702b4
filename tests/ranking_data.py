"""The data of the ranking studies, kept outside the repository: rows, labels and queries."""

import csv
import gzip
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from tests.data_folder import DATA


class Ranked(NamedTuple):
    """Rows, labels, queries (None if all items are one query) and groups that a split keeps together."""

    X: Any
    y: Any
    qid: Any = None
    group: Any = None


def zapien(name: str) -> Ranked:
    """One of the four data sets of Zapien et al. (2009), features as they are."""
    return {"mixture": _mixture, "auto": _auto, "diabetes": _pima, "cancer": _wdbc}[name]()


def retention_times() -> Ranked:
    """Substructure counts, retention times, systems and molecules of 603 measurements (Bach et al. 2018)."""
    with gzip.open(DATA / "retention_time" / "rt_predret.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    counts = [name for name in rows[0] if name[0] == "c" and name[1:].isdigit()]
    X = np.array([[float(row[name]) for name in counts] for row in rows])
    times = np.array([float(row["rt"]) for row in rows])
    systems, molecules = (np.array([row[name] for row in rows]) for name in ("dataset", "smiles"))
    return Ranked(X, times, systems, molecules)


def _mixture() -> Ranked:
    table = np.loadtxt(DATA / "mixture" / "mixture.csv", delimiter=",", skiprows=1)
    return Ranked(table[:, :2], table[:, 2])


def _auto() -> Ranked:
    rows = [row for row in _records("auto_mpg", "auto_mpg.csv") if row["horsepower"]]
    features = ("cylinders", "displacement", "horsepower", "weight", "acceleration", "model_year", "origin")
    return Ranked(_columns(rows, features), _columns(rows, ["mpg"])[:, 0])


def _pima() -> Ranked:
    rows = _records("pima", "pima.csv")
    return Ranked(_columns(rows, list(rows[0])[:-1]), _columns(rows, ["diabetes"])[:, 0])


def _wdbc() -> Ranked:
    rows = _records("wdbc", "wdbc.csv")
    return Ranked(_columns(rows, list(rows[0])[:-1]), _columns(rows, ["target"])[:, 0])


def _records(folder: str, file: str) -> list[dict[str, str]]:
    with (DATA / folder / file).open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


def _columns(rows: list[dict[str, str]], names: Any) -> Any:
    return np.array([[float(row[name]) for name in names] for row in rows])


ORDINAL = (
    "era",
    "esl",
    "lev",
    "balance_scale",
    "machine_cpu",
    "pyrimidines",
    "stocks",
    "auto_mpg",
    "abalone",
)


def ordinal(name: str, is_raw: bool = False) -> Ranked:
    """One of the ordinal data sets, features standardised or as they are; five levels of a raw target."""
    (file,) = (DATA / f"ordinal_{name}").glob("*.csv*")
    table = pd.read_csv(file)
    label = "y" if "y" in table else "y5"
    X = table.drop(columns=[name for name in ("y", "y5", "y10", "target") if name in table]).to_numpy(float)
    return Ranked(X if is_raw else StandardScaler().fit_transform(X), table[label].to_numpy())
