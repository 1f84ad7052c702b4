"""Which package may import which: the import graph of `pqp` and `ranking` as a table."""

import ast
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("pqp", "ranking")
# Package (or module at the top of one) -> what it may import of ours, besides itself.
ALLOWED = {
    "pqp.errors": "",
    "pqp.linalg": "pqp.errors",
    "pqp.model": "pqp.errors pqp.linalg",
    "pqp.catalog": "pqp.errors pqp.linalg pqp.model",
    "pqp.lcp": "pqp.errors pqp.linalg",
    "pqp.stopping": "pqp.errors pqp.linalg pqp.lcp",
    "pqp.records": "pqp.errors pqp.linalg pqp.model pqp.lcp",
    "pqp.io": "pqp.errors pqp.linalg pqp.model pqp.records",
    # The checker reads documents only, so that it cannot share a mistake with the engines.
    "pqp.certificate": "pqp.errors",
    "pqp.plotting": "",
    "pqp.path": "pqp.errors pqp.linalg pqp.model pqp.lcp pqp.records pqp.io pqp.certificate pqp.plotting",
    "pqp.tableau": "pqp.errors pqp.linalg pqp.model pqp.lcp pqp.stopping pqp.records",
    # The revised engine asks the tableau engine for exact help.
    "pqp.revised": "pqp.errors pqp.linalg pqp.model pqp.lcp pqp.stopping pqp.records pqp.tableau",
    "pqp.solver": "pqp.errors pqp.linalg pqp.model pqp.lcp pqp.stopping pqp.records pqp.io pqp.path "
    "pqp.tableau pqp.revised",
    # A path read from a file can be extended, which needs the engines.
    "pqp.files": "pqp.errors pqp.linalg pqp.model pqp.lcp pqp.records pqp.io pqp.path pqp.revised pqp.solver",
    "pqp.cli": "pqp.errors pqp.linalg pqp.model pqp.stopping pqp.records pqp.certificate pqp.path pqp.solver "
    "pqp.files",
    # One error record serves both packages.
    "ranking.errors": "pqp",
    # The independent path shares nothing with what it checks.
    "ranking.hastie": "ranking.errors",
    "ranking.core": "ranking.errors pqp",
    "ranking.io": "ranking.errors ranking.core",
    "ranking.metrics": "ranking.errors ranking.core",
    "ranking.selection": "ranking.errors ranking.core ranking.metrics pqp",
    "ranking.ranksvm": "ranking.errors ranking.core ranking.metrics ranking.selection pqp",
    "ranking.ordinal": "ranking.errors ranking.core ranking.metrics ranking.selection pqp",
    "ranking.conjoint": "ranking.errors ranking.core ranking.selection pqp",
    "ranking.studies": "ranking.errors ranking.core ranking.io ranking.metrics ranking.selection "
    "ranking.ranksvm ranking.ordinal ranking.conjoint pqp",
    # Plots ask for what the protocols of paths and tables promise, so they import no model.
    "ranking.plots": "ranking.errors ranking.core ranking.selection pqp.plotting",
    "ranking.plot": "ranking.plots",
    "ranking.conjoint_plots": "ranking.plots",
    "ranking.report": "ranking.errors ranking.core ranking.io ranking.metrics ranking.selection "
    "ranking.conjoint ranking.studies ranking.plots ranking.plot",
    "ranking.cli": "ranking.errors ranking.core ranking.io ranking.metrics ranking.selection "
    "ranking.ranksvm ranking.ordinal ranking.conjoint ranking.studies ranking.plots ranking.plot "
    "ranking.report pqp pqp.cli",
}
# Inside `ranking.conjoint`: models report in the terms of part-worths, so results stand below estimation.
CONJOINT = {
    "ranking.conjoint.data": "",
    "ranking.conjoint.results": "ranking.conjoint.data",
    "ranking.conjoint.estimation": "ranking.conjoint.data ranking.conjoint.results",
}
# The entrances of the packages import what they export.
ENTRANCES = ("pqp", "pqp.__main__", "ranking", "ranking.__main__")


def imported(module: Path) -> set[str]:
    """Return the names of our modules a file imports when it runs, also inside functions."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    typing_only = [n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.dump(n.test)]
    skipped = {id(inner) for block in typing_only for inner in ast.walk(block)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {_module_of(node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.split(".")[0] in PACKAGES}


def _module_of(package: str, name: str) -> str:
    """Return package.name where that is a module, else the package itself."""
    inside = ROOT.joinpath(*package.split("."), name)
    return f"{package}.{name}" if inside.is_dir() or inside.with_suffix(".py").is_file() else package


def dotted(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def all_modules() -> dict[str, Path]:
    files = (file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py")))
    return {dotted(file): file for file in files}


def package_of(module: str) -> str:
    """Return the row of the table a module belongs to; `pqp` seen from `ranking` is one thing."""
    return ".".join(module.split(".")[:2])


MODULES = {name: file for name, file in all_modules().items() if name not in ENTRANCES}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_the_table_allows(module):
    package = package_of(module)
    found = {package_of(name) for name in imported(MODULES[module])} - {package}
    assert found <= set(ALLOWED[package].split())


def test_the_table_names_every_package():
    assert {package_of(module) for module in MODULES} == set(ALLOWED)


@pytest.mark.parametrize("package", CONJOINT)
def test_the_packages_of_conjoint_import_only_what_their_table_allows(package):
    allowed = {package, *CONJOINT[package].split()}
    for module, file in MODULES.items():
        if module.startswith(package):
            inside = {name for name in imported(file) if name.startswith("ranking.conjoint")}
            assert {".".join(name.split(".")[:3]) for name in inside} <= allowed, module


def test_the_models_of_ranking_never_import_each_other():
    models = {"ranking.ranksvm", "ranking.ordinal", "ranking.conjoint"}
    for model in models:
        assert not models & set(ALLOWED[model].split())


def test_there_is_no_import_cycle():
    graph = nx.DiGraph()
    for module, file in all_modules().items():
        graph.add_edges_from((module, name) for name in imported(file) if name != module)
    assert [cycle for cycle in nx.strongly_connected_components(graph) if len(cycle) > 1] == []


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("import pqp", {"pqp"}),
        ("import pqp.lcp, numpy", {"pqp.lcp"}),
        ("from pqp import lcp, mu", {"pqp.lcp", "pqp"}),
        ("from ranking.core import graph", {"ranking.core.graph"}),
        ("from ranking.core.graph import find_cycle", {"ranking.core.graph"}),
        ("def f():\n    from ranking import core", {"ranking.core"}),
        ("if TYPE_CHECKING:\n    import pqp", set()),
    ],
)
def test_imports_are_seen_however_they_are_written(tmp_path, line, wanted):
    file = tmp_path / "module.py"
    file.write_text(line, encoding="utf-8")
    assert imported(file) == wanted


def test_ranking_uses_pqp_only_as_a_whole():
    for module, file in all_modules().items():
        if module.startswith("ranking"):
            # Both programs are built from one command-line kit, and both packages draw with one plotting
            # kit; neither is a part of the library's interface.
            kits = {"ranking.cli": {"pqp.cli.program"}, "ranking.plots": {"pqp.plotting"}}
            allowed = kits.get(package_of(module), set())
            assert {name for name in imported(file) if name.startswith("pqp.")} <= allowed, module
