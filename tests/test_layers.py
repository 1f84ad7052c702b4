"""layers: a module imports only from modules to its left, so that data flow one way."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = """
    errors field table matrices forms kernels affine arguments formula convexity factors hessian problem
    catalog terms model lcp place dictionary log crisscross proofs confirmation complementarity residuals
    accuracy uniqueness compact segment compilation reading tableau stretches stairs inverse scanning system
    tracks refinement stepping walk responses ties revised elimination reduction translation equilibration
    instance proposal starting deadends widths journey collecting checking sweeping verification rescue
    excerpt repair ways packing documents certificate images tallies queries plot path limits runs tableau_runs
    revised_runs solving decoding restoring files report terminal demo cli
"""
ORDER = LAYERS.split()
CHECKER = "reading lines tables convexity hessian problem states core solution optimality pieces covering"
CERTIFICATE = CHECKER.split()
ENTRANCES = {"__init__", "__main__"}


def imported(module: Path) -> set[str]:
    """Return the names of all `pqp` modules a file imports when it runs, also inside functions."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    typing_only = [n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.dump(n.test)]
    skipped = {id(inner) for block in typing_only for inner in ast.walk(block)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = (
                [f"{node.module}.{alias.name}" for alias in node.names]
                if node.module == "pqp"
                else [node.module]
            )
            found |= {name for name in names if name.startswith("pqp.")}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] in ("pqp", "ranking")}
    return found


def modules(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.glob("*.py")) if file.stem not in ENTRANCES]


@pytest.mark.parametrize("module", modules(ROOT / "pqp"), ids=lambda module: module.stem)
def test_a_module_imports_only_from_its_left(module):
    left = set(ORDER[: ORDER.index(module.stem)])
    assert {name.split(".")[1] for name in imported(module)} <= left


def test_the_order_names_every_module():
    assert sorted([m.stem for m in modules(ROOT / "pqp")] + ["certificate"]) == sorted(ORDER)


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
