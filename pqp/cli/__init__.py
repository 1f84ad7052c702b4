"""The command line of `pqp`."""

from pqp.cli.app import main

__all__ = ["main"]
