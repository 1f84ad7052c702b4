"""Plots of ranking models: each takes `ax=None`, returns matplotlib axes, shows and prints nothing.

`plot_coefficients`, `plot_scores`, `plot_pair_counts`, `plot_selection` and `plot_level_path` over C;
`plot_decision`, `plot_decisions` and `plot_levels` over two features; `plot_preference_graph`.
`axes.figure.savefig(file)` writes one.
"""

from ranking.plots.ordinal import plot_level_path, plot_levels
from ranking.plots.paths import plot_coefficients, plot_pair_counts, plot_scores, plot_selection
from ranking.plots.ranksvm import plot_decision, plot_decisions, plot_preference_graph

__all__ = [
    "plot_coefficients",
    "plot_decision",
    "plot_decisions",
    "plot_level_path",
    "plot_levels",
    "plot_pair_counts",
    "plot_preference_graph",
    "plot_scores",
    "plot_selection",
]
