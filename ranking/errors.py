"""Errors of the ranking models: everything raised on purpose descends from `RankingError`.

Room: a situation in, an exception out.
May touch: nothing.
"""


class RankingError(Exception):
    """Any error that a ranking model raises on purpose."""


class DataError(RankingError, ValueError):
    """An argument that makes no sense, named with what was found."""


class SingularActiveSetError(RankingError):
    """An active set whose matrix is singular, so that the path cannot go on below `lambda_`."""

    def __init__(self, message: str, *, lambda_: float) -> None:
        super().__init__(message)
        self.lambda_ = lambda_
