"""README and docs: examples run, links and file names exist, lines are short, English is plain."""

import doctest
import re
from pathlib import Path

import networkx as nx
import pytest

from tests.test_layers import ALLOWED

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
SESSION = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
FILE = re.compile(r"\b(?:pqp|ranking|tests)/[\w/]+\.(?:py|csv)\b|\b(?:pqp|ranking|tests)/[\w/]+/(?=`)")
# A file named without its folder, in code or in a drawing.
BARE_FILE = re.compile(r"(?<![\w/.])(\w+\.py)\b")
WIDTH = 100
# Phrases with a usual replacement, e.g. "one per row", "relative to", "is not a number", "return whether".
PHRASES = re.compile(
    r"\b(?:[Oo]ne|two|three|four|five|numbers?|bytes|rows?|columns?|pivots?) an? "
    r"(?:row|piece|pair|column|item|level|task|respondent|pivot|event|variable|query|alternative|fold|object|line)"
    r"\b(?! (?:is|has))"
    r"|\b(?:is|are) no (?:number|integer|line|lines|error|mistake|matrix|step function)\b"
    r"|\bbeside (?:its|their|the|a|an|C|mu|which)\b|, beside\b|\bround-off keeps\b|; path\.extend goes on"
    r"|\b[Tt]ells? (?:whether|how)\b|\bhears?\b|\bhangs? on\b|\btold (?:apart|of)\b"
    r"|\bwhat is held\b|\bwhat depends\b|\b(?:he|his|him|himself) (?:chose|took|takes|has|was|is|answers?)\b"
    r"|\bMay touch\b|^Room:",
    re.MULTILINE,
)
SOURCES = [
    file
    for folder in ("pqp", "ranking", "tests")
    for kind in ("*.py", "*.html")
    for file in sorted((ROOT / folder).rglob(kind))
    if file != Path(__file__)
]


def prose(page: Path) -> str:
    """Return the text of a page without its fenced code."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "\n".join(SESSION.findall(page.read_text(encoding="utf-8")))
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(examples, out=report.append)
    assert not runner.failures, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_that_exist(page):
    targets = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in targets if not (page.parent / link).exists()] == []


def test_the_readme_shows_running_code():
    assert sum(len(SESSION.findall(page.read_text(encoding="utf-8"))) for page in PAGES) >= 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_outside_code_and_tables_end_at_the_width(page):
    lines = [line for line in prose(page).splitlines() if not line.startswith("|")]
    assert [line for line in lines if len(line) > WIDTH] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page):
    assert [name for name in FILE.findall(prose(page)) if not (ROOT / name).exists()] == []
    known = {file.name for folder in ("pqp", "ranking", "tests") for file in (ROOT / folder).rglob("*.py")}
    assert set(BARE_FILE.findall(prose(page))) <= known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_are_written_in_plain_english(page):
    assert PHRASES.findall(prose(page)) == []


def test_code_is_documented_in_plain_english():
    found = {
        str(file.relative_to(ROOT)): PHRASES.findall(file.read_text(encoding="utf-8")) for file in SOURCES
    }
    assert {file: phrases for file, phrases in found.items() if phrases} == {}


def import_graph() -> str:
    """Return the table of allowed imports without those that follow from others, one package per line."""
    graph = nx.DiGraph({package: names.split() for package, names in ALLOWED.items()})
    least = nx.transitive_reduction(graph)
    direct = {package: " ".join(sorted(least.successors(package))) for package in ALLOWED}
    return "\n".join(f"{package:23} {names}".strip() for package, names in direct.items())


def test_the_import_graph_of_the_architecture_page_is_the_table_of_the_tests():
    assert import_graph() in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
