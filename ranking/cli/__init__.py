"""The command line of `ranking`."""

from ranking.cli.app import main

__all__ = ["main"]
