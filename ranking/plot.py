"""Plots of ranking models: each takes `ax=None`, returns matplotlib axes, shows and prints nothing.

`plot_coefficients`, `plot_scores`, `plot_pair_counts` and `plot_selection` over C; `plot_decision` and
`plot_decisions` over two features; `plot_preference_graph`. `axes.figure.savefig(file)` writes one.

Room: the names by which plots are asked for; they are drawn in `curves`, `decisions` and `drawing`.
May touch: `curves`, `decisions`, `drawing`.
"""

from ranking.curves import plot_coefficients, plot_pair_counts, plot_scores, plot_selection
from ranking.decisions import plot_decision, plot_decisions
from ranking.drawing import plot_preference_graph

__all__ = [
    "plot_coefficients",
    "plot_decision",
    "plot_decisions",
    "plot_pair_counts",
    "plot_preference_graph",
    "plot_scores",
    "plot_selection",
]
