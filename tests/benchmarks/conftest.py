"""The table of a run, printed after the tests."""

from tests.benchmarks.table import ROWS, as_markdown


def pytest_terminal_summary(terminalreporter):
    """Print what was measured."""
    if ROWS:
        terminalreporter.write_line(as_markdown(ROWS))
