"""Everything that can go wrong in `ranking`, named after the situation it describes.

Room: exceptions only.
May touch: nothing.
"""


class RankingError(Exception):
    """The ancestor of every exception raised by `ranking`."""


class DataError(RankingError, ValueError):
    """An argument makes no sense: the message names it, what was found, and the remedy."""


class ConvergenceError(RankingError):
    """An iterative method stopped short of the accuracy asked for: the message says what was reached."""
