"""Settings of all tests, and the quick run without the compiled engine.

How long an example of hypothesis takes depends on the machine and on what it imports first, so there is no
deadline.

`pytest -m "not engine"` skips every test that needs the compiled revised engine, whose compilation takes
minutes. No list says which these are: the import of `pqp.linalg.jit` is blocked, and a test that needs it is
skipped. Tests that would take the skip for an error are marked `engine` by hand. Slow tests and benchmarks
are left out as in every other run.
"""

import signal
import sys
from importlib.abc import MetaPathFinder

import pytest
from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# Shells make what they start in the background deaf to Ctrl-C, which some tests raise.
signal.signal(signal.SIGINT, signal.default_int_handler)

WITHOUT_ENGINE = "not engine"


class _NoCompiler(MetaPathFinder):
    """Skips every test that imports the compiler of the engine."""

    def find_spec(self, name, path, target=None):
        if name == "pqp.linalg.jit":
            pytest.skip("needs the compiled engine", allow_module_level=True)


def pytest_configure(config):
    if config.option.markexpr == WITHOUT_ENGINE:
        config.option.markexpr += " and not benchmark and not slow"
    if WITHOUT_ENGINE in config.option.markexpr:
        sys.meta_path.insert(0, _NoCompiler())
