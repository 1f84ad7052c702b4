"""Ordinal regression with fixed margins: thresholds on a score, for one C or for all of them."""

from ranking.ordinal.model import OrdinalSVM
from ranking.ordinal.path import OrdinalSVMPath, OrdinalSVMPathCV

__all__ = ["OrdinalSVM", "OrdinalSVMPath", "OrdinalSVMPathCV"]
