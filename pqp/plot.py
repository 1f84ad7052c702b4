"""Plots."""
from typing import Any
def plot_path(path: Any, variables: Any = None, ax: Any = None) -> Any:
    raise NotImplementedError
