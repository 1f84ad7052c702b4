"""layers: a module imports only from modules to its left, so that data flow one way."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = """
    errors field table matrices forms grouping kernels columns affine arguments formula convexity factors
    hessian problem catalog terms model lcp place dictionary log crisscross proofs confirmation
    complementarity residuals accuracy uniqueness compact segment compilation reading tableau stretches
    stairs thin blocks inverse scanning system tracks refinement stepping walk responses ties revised
    elimination reduction translation equilibration instance proposal starting deadends widths journey
    collecting checking sweeping verification rescue excerpt repair ways packing documents certificate
    images tallies queries plot path limits runs tableau_runs revised_runs solving decoding restoring
    files report terminal demo cli
"""
ORDER = LAYERS.split()
RANKING_LAYERS = """
    errors hastie_record active_set hastie arguments arrays levels letor kernels pair_features newton graph
    data concordance gains measures judgements level_metrics jackknife agreement metrics uncertainty crossings
    steps selection level_steps search representation ranker ranksvm ranksvm_path crossvalidation ordinal
    conjoint files study ordinal_study conjoint_stability conjoint_survey conjoint_tables conjoint_workbook
    canvas plane curves decisions drawing ordinal_plots plot conjoint_plots page sections report
    ordinal_report conjoint_sections conjoint_report options conjoint_options opening conjoint_words
    conjoint_opening terminal estimates delivery demo ordinal_command conjoint_command simulate_command cli
"""
RANKING = RANKING_LAYERS.split()
# Packages inside `ranking`, each with its own order; they may use what the outer order has to their left.
ORDINAL_LAYERS = """
    students conventions hinges formulations conflicts separation generation dual working thresholds training
    stretches solving model lines traced path crossvalidation
"""
ORDINAL = ORDINAL_LAYERS.split()
CONJOINT_LAYERS = """
    labels problems attributes marks roles choices sheet keys cells validation weights reading coding
    splitting straightlining balance confounding remarks card wide study example estimation space worths
    rules utilities holdouts calibration bootstrap scaling orders reversals willingness scenario noise
    simulator sensitivity lines tracks stability rows cbc tracing pool interior pooled conflicts fitted hits
    model path likelihoods search
"""
CONJOINT = CONJOINT_LAYERS.split()
SUBPACKAGES = {"ordinal": ORDINAL, "conjoint": CONJOINT}
# An independent path: it may share nothing with `pqp`, nor with the modules that use it.
HASTIE = ("hastie_record", "active_set", "hastie")
PACKAGES = ("pqp", "ranking")
CHECKER = "reading lines tables convexity hessian problem states core solution optimality pieces covering"
CERTIFICATE = CHECKER.split()
ENTRANCES = {"__init__", "__main__"}


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
            is_whole = node.module in PACKAGES
            found |= {f"{node.module}.{alias.name}" for alias in node.names} if is_whole else {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.split(".")[0] in PACKAGES}


def modules(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.glob("*.py")) if file.stem not in ENTRANCES]


@pytest.mark.parametrize("module", modules(ROOT / "pqp"), ids=lambda module: module.stem)
def test_a_module_imports_only_from_its_left(module):
    left = set(ORDER[: ORDER.index(module.stem)])
    assert {name.split(".")[1] for name in imported(module)} <= left


@pytest.mark.parametrize("module", modules(ROOT / "ranking"), ids=lambda module: module.stem)
def test_a_module_of_ranking_imports_only_from_its_left(module):
    left = {f"ranking.{name}" for name in RANKING[: RANKING.index(module.stem)]} | {"pqp"}
    assert {outer(name) for name in imported(module)} <= left


def outer(name: str) -> str:
    """Return a module of `ranking` without the place inside its package."""
    return ".".join(name.split(".")[:2])


def test_the_order_names_every_module():
    assert sorted([m.stem for m in modules(ROOT / "pqp")] + ["certificate"]) == sorted(ORDER)
    assert sorted([m.stem for m in modules(ROOT / "ranking")] + list(SUBPACKAGES)) == sorted(RANKING)


@pytest.mark.parametrize("package", SUBPACKAGES)
def test_a_package_of_ranking_imports_only_from_its_left(package):
    order, folder = SUBPACKAGES[package], ROOT / "ranking" / package
    assert sorted(module.stem for module in modules(folder)) == sorted(order)
    outside = {f"ranking.{name}" for name in RANKING[: RANKING.index(package)]} | {"pqp"}
    for module in modules(folder):
        left = {f"ranking.{package}.{name}" for name in order[: order.index(module.stem)]}
        assert imported(module) <= left | outside, module.stem


def test_conjoint_shares_no_code_with_the_other_models():
    models = {"ranking.ordinal", "ranking.ranksvm", "ranking.ranksvm_path", "ranking.crossvalidation"}
    for module in (ROOT / "ranking" / "conjoint").glob("*.py"):
        assert not {outer(name) for name in imported(module)} & models, module.stem


@pytest.mark.parametrize("name", HASTIE)
def test_the_active_set_path_shares_no_code_with_pqp(name):
    allowed = {f"ranking.{other}" for other in (*HASTIE, "errors")}
    assert imported(ROOT / "ranking" / f"{name}.py") <= allowed


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("import pqp", {"pqp"}),
        ("import pqp.lcp, numpy", {"pqp.lcp"}),
        ("from pqp import lcp", {"pqp.lcp"}),
        ("from ranking.data import take_qid", {"ranking.data"}),
        ("def f():\n    from ranking import data", {"ranking.data"}),
        ("if TYPE_CHECKING:\n    import pqp", set()),
    ],
)
def test_imports_are_seen_however_they_are_written(tmp_path, line, wanted):
    file = tmp_path / "module.py"
    file.write_text(line, encoding="utf-8")
    assert imported(file) == wanted


@pytest.mark.parametrize("module", modules(ROOT / "pqp" / "certificate"), ids=lambda module: module.stem)
def test_the_certificate_shares_no_code_with_the_engines(module):
    left = {f"pqp.certificate.{name}" for name in CERTIFICATE[: CERTIFICATE.index(module.stem)]}
    assert imported(module) <= left | {"pqp.errors"}


def test_the_certificate_entrance_shares_no_code_with_the_engines():
    names = {f"pqp.certificate.{name}" for name in CERTIFICATE} | {"pqp.errors"}
    assert imported(ROOT / "pqp" / "certificate" / "__init__.py") <= names


def test_pqp_never_imports_ranking():
    for module in (ROOT / "pqp").rglob("*.py"):
        assert "ranking" not in {name.split(".")[0] for name in imported(module)}


def test_ranking_uses_pqp_only_as_a_whole():
    for module in (ROOT / "ranking").rglob("*.py"):
        assert {name for name in imported(module) if name.startswith("pqp.")} == set()
