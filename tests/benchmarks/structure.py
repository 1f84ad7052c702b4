"""Figures of the source tree: how much there is, how far a reader walks, and what an import costs.

    python -m tests.benchmarks.structure                 the tree of this repository
    python -m tests.benchmarks.structure OTHER_FOLDER    another checkout, to compare with

A walk counts the modules and functions that an ordinary use passes through, compiled code interpreted.
"""

import contextlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Callable
from pathlib import Path

import numpy as np

PACKAGES = ("pqp", "ranking")
# Modules that `import pqp` and `import ranking` should spare their users.
HEAVY = ("numba", "pandas", "matplotlib", "sympy", "networkx", "sklearn", "openpyxl")
# Imports timed in processes of their own; the fastest of so many counts.
ROUNDS = 5


def lasso() -> None:
    """Trace a lasso path with the revised engine."""
    import pqp

    chance = np.random.default_rng(0)
    X = chance.normal(size=(30, 8))
    y = X @ np.r_[1, -2, np.zeros(6)] + chance.normal(size=30)
    pqp.solve_path(pqp.catalog.lasso(X, y), (0, np.inf), direction="right-to-left")


def exact() -> None:
    """Trace a small path with the tableau engine in exact arithmetic, with its log."""
    import pqp

    problem = pqp.ParametricQP(P=[[2, 0], [0, 2]], c=[-4, -6], A=[[1, 1]], row_upper=pqp.mu, lower=0)
    pqp.solve_path(problem, (-2, 8), method="tableau", arithmetic="exact", log=True)


def ranksvm() -> None:
    """Fit a RankSVM path, choose C on validation queries, rank."""
    from ranking import RankSVMPath

    chance = np.random.default_rng(1)
    X, qid = chance.integers(-2, 3, size=(40, 4)), np.repeat(np.arange(4), 10)
    y = (X @ [2, 1, -1, 0] + chance.normal(0, 4, 40)).round()
    model = RankSVMPath(C_max=0.1).fit(X[:30], y[:30], qid[:30])
    model.select(X[30:], y[30:], qid[30:], metric="pairwise_accuracy")
    model.rank(X[30:])


def conjoint() -> None:
    """Run `ranking conjoint` on the example study, with its report."""
    from ranking.cli import main

    study = "conjoint coffee.csv --none empty --weight weight --holdout holdout"
    fast = "--pooling aggregate --refits 0 --c-max 0.02 --report out.html"
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for words in ("conjoint --example", f"{study} {fast}"):
                main(words.split())
        finally:
            os.chdir(here)


WALKS: dict[str, Callable[[], None]] = {
    "solve_path on a lasso": lasso,
    "exact tableau": exact,
    "RankSVMPath.fit + select": ranksvm,
    "ranking conjoint --report": conjoint,
}


def walk(use: Callable[[], None]) -> tuple[int, int]:
    """Return how many modules and functions of ours a use passes through."""
    seen: set[tuple[str, str]] = set()

    def watch(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_name != "<module>":
            for package in PACKAGES:
                _, mark, inside = code.co_filename.rpartition(f"{os.sep}{package}{os.sep}")
                if mark:
                    seen.add((f"{package}/{inside}", getattr(code, "co_qualname", code.co_name)))

    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with quiet[0], quiet[1], np.errstate(all="ignore"):
        use()  # once before, so that importing does not count
        sys.setprofile(watch)
        try:
            use()
        finally:
            sys.setprofile(None)
    return len({module for module, _ in seen}), len(seen)


def comment_lines(file: Path) -> int:
    """Return how many lines of a module hold a comment."""
    with file.open("rb") as source:
        return sum(token.type == tokenize.COMMENT for token in tokenize.tokenize(source.readline))


def sizes(tree: Path, package: str) -> dict[str, object]:
    """Return modules, lines, median and longest file, files at the top, and the share of comments."""
    files = [file for file in (tree / package).rglob("*.py") if file.stat().st_size]
    lines = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    modules = [file for file in files if file.stem not in ("__init__", "__main__")]
    longest = max(files, key=lines.__getitem__)
    return {
        "modules": len(modules),
        "of them at the top": sum(file.parent.name == package for file in modules),
        "lines": sum(lines.values()),
        "median module": statistics.median(lines[file] for file in modules),
        "longest": f"{longest.relative_to(tree)} ({lines[longest]})",
        "comment lines, %": round(100 * sum(map(comment_lines, files)) / sum(lines.values()), 1),
    }


def import_cost(tree: Path, statement: str) -> tuple[float, list[str]]:
    """Return CPU seconds of an import in a process of its own, and the heavy modules it loads."""
    code = (
        f"import json, sys, time; begin = time.process_time(); {statement}; "
        "print(json.dumps([time.process_time() - begin, sorted(sys.modules)]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    best, loaded = np.inf, []
    for _ in range(ROUNDS):
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        seconds, loaded = json.loads(done.stdout)
        best = min(best, seconds)
    return best, [name for name in HEAVY if name in loaded]


def main(tree: Path) -> None:
    """Print all figures of a tree."""
    for package in PACKAGES:
        print(package, sizes(tree, package))
    for statement in ("import numpy, scipy.sparse", "import pqp", "import ranking"):
        seconds, heavy = import_cost(tree, statement)
        print(
            f"{statement}: {seconds:.2f} s of CPU time, loads {', '.join(heavy) or 'none of the heavy ones'}"
        )
    environment = {**os.environ, "PYTHONPATH": str(tree), "NUMBA_DISABLE_JIT": "1", "MPLBACKEND": "Agg"}
    for name in WALKS:
        words = [sys.executable, __file__, "--walk", name]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
        modules, functions = done.stdout.split()
        print(f"{name}: {modules} modules, {functions} functions")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--walk"]:
        print(*walk(WALKS[sys.argv[2]]))
    else:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
