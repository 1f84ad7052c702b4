"""Plots of conjoint studies: each takes `ax=None`, returns matplotlib axes, shows and prints nothing."""

from ranking.plots.conjoint import (
    plot_importances,
    plot_part_worths,
    plot_price_curve,
    plot_shares,
    plot_stability,
)

__all__ = [
    "plot_importances",
    "plot_part_worths",
    "plot_price_curve",
    "plot_shares",
    "plot_stability",
]
