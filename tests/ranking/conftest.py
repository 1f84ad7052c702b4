"""What the tests of the command line share."""

import pytest

from ranking.cli import app as cli


@pytest.fixture
def run(capsys):
    """Run the command line; returns exit code, stdout, stderr."""

    def call(words):
        code = cli.main(words.split())
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call
