"""Everything that can go wrong, named after the situation it describes.

Infeasible and unbounded problems are answers, not errors; they become one (`NoSolutionError`) only when
someone asks for the solution that does not exist.

An error is data: which `argument`, what was `found`, what is `expected`, and the `remedy`. Python, the shell
and a page each render these data in their own words with `render`; none edits the text of another.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from pqp.linalg.field import Array, Number
    from pqp.records.segment import Segment

# What a message may refer to; words in braces that are not among the parts of the error are left as they are.
_PLACEHOLDER = re.compile(r"\{([a-z]+)\}")
# The sentence of an error that has no message of its own.
_SENTENCE = "{argument} must be {expected}, got {found}"
# Longer values are cut in messages; `found` keeps them whole.
_LONGEST = 80


def python_setting(argument: str, value: object) -> str:
    """Return an argument with its value as Python code.

    >>> python_setting("none", True)
    'none=True'
    """
    return f"{argument}={value!r}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, for messages.

    >>> counted(1, "row"), counted(2, "entry")
    ('1 row', '2 entries')
    """
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"


class ExplainedError(Exception):
    """An exception whose parts are data, rendered on demand.

    Parameters
    ----------
    message
        A sentence that may refer to `{argument}`, `{found}`, `{expected}`, `{row}` and `{column}`; by default
        "{argument} must be {expected}, got {found}".
    argument
        The argument at fault, with its index if an entry is: "c[1]".
    found, expected
        What was there, and what should be there, in words.
    remedy
        What to do about it; may refer to `{setting}`.
    setting
        An argument and the value that would help, ("none", True): `none=True` in Python, `--none` at a shell.
    row, column
        Where in a table the mistake is.

    >>> error = ExplainedError(argument="time_limit", found=-1, expected="positive", remedy="leave it out")
    >>> str(error)
    'time_limit must be positive, got -1; leave it out'
    >>> error.render(name=lambda argument: "--" + argument.replace("_", "-"))
    '--time-limit must be positive, got -1; leave it out'
    """

    # The file that the error is about; who opens it adds its name, with which the sentence then begins.
    file: str | None = None

    def __init__(
        self,
        message: str = _SENTENCE,
        *,
        argument: str | None = None,
        found: object = None,
        expected: str | None = None,
        remedy: str | None = None,
        setting: tuple[str, object] | None = None,
        row: object = None,
        column: object = None,
    ) -> None:
        super().__init__(message)  # all that pickle passes here; it restores the attributes afterwards
        self.message = message
        self.argument = argument
        self.found = found
        self.expected = expected
        self.remedy = remedy
        self.setting = setting
        self.row = row
        self.column = column

    def render(
        self, name: Callable[[str], str] = str, setting: Callable[[str, object], str | None] = python_setting
    ) -> str:
        """Return the error as a sentence.

        Parameters
        ----------
        name
            What a front end calls an argument.
        setting
            How a front end writes an argument with its value; None if it has no such argument, which drops a
            remedy that needs it.
        """
        words = {**self._words(), "argument": None if self.argument is None else name(self.argument)}
        if self.setting is not None:
            words["setting"] = setting(*self.setting)

        def filled(template: str) -> str:
            return _PLACEHOLDER.sub(lambda match: str(words.get(match[1], match[0])), template)

        sentence = filled(self.message) if self.file is None else f"{self.file}: {filled(self.message)}"
        if self.remedy is None or (self.setting is not None and words["setting"] is None):
            return sentence
        return f"{sentence}; {filled(self.remedy)}"

    def _words(self) -> dict[str, object]:
        """Return the parts that a message may refer to and that every front end writes alike."""
        return {
            "found": self.found if isinstance(self.found, str) else f"{self.found!r:.{_LONGEST}}",
            "expected": self.expected,
            "row": self.row,
            "column": repr(self.column),
        }

    def __str__(self) -> str:
        return self.render()


class PQPError(ExplainedError):
    """The ancestor of every exception raised by `pqp`."""


class ProblemError(PQPError, ValueError):
    """An argument makes no sense: the message names it, what was found, and the remedy."""


def must_be(argument: str, expected: str, found: object, remedy: str | None = None) -> ProblemError:
    """Return the error of an argument with a wrong value, in the order of its sentence.

    >>> print(must_be("c[1]", "finite", found="inf"))
    c[1] must be finite, got inf
    """
    return ProblemError(argument=argument, expected=expected, found=found, remedy=remedy)


class NotConvexError(ProblemError):
    """P has a direction of negative curvature.

    `direction` is a vector d with dᵀP d = `curvature` < 0.
    """

    def __init__(
        self,
        message: str = "",
        direction: "Array | None" = None,
        curvature: "Number | None" = None,
        *,
        argument: str = "P",
        remedy: str | None = None,
    ) -> None:
        found = f"curvature {curvature}"
        super().__init__(message, argument=argument, found=found, expected="convex", remedy=remedy)
        self.direction = direction
        self.curvature = curvature


class NoSolutionError(PQPError):
    """The solution was asked for where there is none.

    `segment` is the infeasible or unbounded piece with its proof; None outside the traced interval.
    """

    def __init__(
        self,
        message: str = "",
        segment: "Segment | None" = None,
        *,
        found: object = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, found=found, remedy=remedy)
        self.segment = segment


class LimitError(PQPError):
    """A limit was reached before there was anything to return; `stopped` says which."""

    def __init__(self, message: str = "", stopped: str | None = None, *, remedy: str | None = None) -> None:
        super().__init__(message, found=stopped, remedy=remedy)
        self.stopped = stopped


class CertificateError(PQPError):
    """A path does not prove what it claims: the message says which piece and which condition."""


class _Remedy(TypedDict):
    remedy: str
    setting: tuple[str, object]


# What helps against rounding errors.
EXACT_SETTING: tuple[str, object] = ("arithmetic", "exact")
EXACT_REMEDY: _Remedy = {"remedy": "use {setting}", "setting": EXACT_SETTING}


class NumericalTroubleError(PQPError):
    """Rounding errors were too large; `interval` is where, `segments` the pieces that are still good."""

    def __init__(
        self,
        message: str = "",
        interval: "tuple[Number, Number] | None" = None,
        segments: "tuple[Segment, ...]" = (),
        *,
        found: object = None,
        remedy: str | None = None,
        setting: tuple[str, object] | None = None,
    ) -> None:
        super().__init__(message, found=found, remedy=remedy, setting=setting)
        self.interval = interval
        self.segments = segments


class InternalError(PQPError):
    """The library contradicts itself: a bug in `pqp`, never in the input.

    `reproducer` is the path of a problem file that shows it, when one could be written.
    """

    def __init__(self, message: str = "", reproducer: str | None = None) -> None:
        super().__init__(message)
        self.reproducer = reproducer


class FileFormatError(PQPError, ValueError):
    """A file is not what it should be.

    `file` is its name, `argument` the key at fault: "segments[1].x0".
    """
