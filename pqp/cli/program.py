"""What the command lines of `pqp` and `ranking` share: main, exit codes, errors, progress and tables.

A program is a typer application whose commands are of the class `Command`. Whatever goes wrong becomes one
line on stderr and an exit code; `CODES` lists them.
"""

import difflib
import inspect
import io
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial, wraps
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import NoneType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from typer.core import TyperCommand

from pqp.errors import CertificateError, ExplainedError, InternalError, NumericalTroubleError

FAILED = 1
WRONG_INPUT = 2
STOPPED = 3
# What shells report for a program that Ctrl-C ended, and for one whose reader went away: 128 + the signal.
INTERRUPTED = 130
PIPE_CLOSED = 141
# The end of the help of a program.
CODES = (
    f"Exit codes: 0 done; {FAILED} numerical trouble, a failed proof, or a bug; {WRONG_INPUT} wrong usage or "
    f"a wrong file; {STOPPED} a limit stopped the path, its finished part is printed and written; "
    f"{INTERRUPTED} interrupted; {PIPE_CLOSED} whoever reads the output went away."
)
PICTURES = (".png", ".pdf", ".svg")
# Shown until the first piece of a path is there; compiled code is kept on disk from then on.
STARTING = "starting; the first run after installation compiles for about a minute"
# Seconds between two updates of the progress line.
REFRESH = 0.1
# Lines in a file or a pipe may be longer than in a terminal, whose width rich knows.
WIDE = 1000

Function = TypeVar("Function", bound=Callable[..., Any])


class CommandError(Exception):
    """Ends a command: a message in the words of the shell, an exit code, and details of one line each."""

    def __init__(self, message: str, code: int = WRONG_INPUT, details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.details = details


class FileError(Exception):
    """An error of the library about a file, with the argument of the command that names the file."""

    def __init__(self, argument: str, file: Path, error: ExplainedError) -> None:
        super().__init__(argument, file, error)
        self.argument = argument
        self.file = file
        self.error = error


@contextmanager
def about_file(argument: str, file: Path) -> Iterator[None]:
    """Let errors say which argument names the file that they are about."""
    try:
        yield
    except ExplainedError as error:
        raise FileError(argument, file, error) from error
    except OSError as error:
        raise CommandError(f"{argument} {file}: {error.strerror or error}") from None


@dataclass(frozen=True)
class Words:
    """What a command calls things that the library calls otherwise.

    `arguments` maps an argument to its option. `settings` maps an argument to a function that returns how to
    set it to a value at the shell, None if that cannot be done. Options that are called like the argument
    need no entry.
    """

    arguments: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Callable[[Any], str | None]] = field(default_factory=dict)


class Command(TyperCommand):
    """A command that renders errors of the library with the names of its own options."""

    failures: tuple[type[ExplainedError], ...] = (NumericalTroubleError, CertificateError)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; an error says which command it is about."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            usage: Any = error
            if getattr(error, "ctx", ctx) is None:  # the parser does not say it if an option lacks a value
                usage.ctx = ctx
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command; every expected way to end early becomes a `CommandError`."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # typer would exit silently
            raise CommandError("interrupted", INTERRUPTED) from None
        except BrokenPipeError:  # typer would exit with code 1, as if something had failed
            raise CommandError("", close_pipe()) from None
        except InternalError:
            raise
        except ExplainedError as error:
            raise self.explained(error, self.rendered(error, ctx.obj)) from error
        except FileError as about:
            sentence = self.rendered(about.error, ctx.obj, {"path": about.argument})
            place = f"{about.argument} {about.file}"
            if not sentence.startswith(place):
                # some sentences begin with the file
                is_named = sentence.startswith(str(about.file))
                sentence = f"{about.argument} {sentence}" if is_named else f"{place}: {sentence}"
            raise self.explained(about.error, sentence) from about

    def explained(self, error: ExplainedError, sentence: str) -> CommandError:
        """Return how the command ends after an error, which a sentence describes."""
        return CommandError(sentence, FAILED if isinstance(error, self.failures) else WRONG_INPUT)

    def rendered(self, error: ExplainedError, words: Words, file: Mapping[str, str] | None = None) -> str:
        """Return an error with this command's names for arguments and settings."""
        options = {**words.arguments, **(file or {})}
        for param in self.params:
            # as a user writes it: the long form of an option, or the name of an argument
            long = [option for option in param.opts if option.startswith("--")]
            options.setdefault(str(param.name), long[0] if long else str(param.metavar or param.name))

        def name(argument: str) -> str:
            base, bracket, index = argument.partition("[")
            option = options.get(base) or options.get(base.lower())
            if option is None:
                return argument
            # orders['price'] is --order price, but levels[4] is the fifth entry of --levels
            key = index.rstrip("]")
            return f"{option} {key[1:-1]}" if key[:1] in ("'", '"') else option + bracket + index

        def setting(argument: str, value: object) -> str | None:
            if argument in words.settings:
                return words.settings[argument](value)
            if name(argument) == argument:
                return None
            return name(argument) if value is True else f"{name(argument)} {shlex.quote(str(value))}"

        sentence = error.render(name, setting)
        exact = setting("arithmetic", "exact")
        needs_advice = isinstance(error, NumericalTroubleError) and error.setting is None and exact
        return f"{sentence} (use {exact})" if needs_advice else sentence


def command(
    app: typer.Typer, words: Words | None = None, cls: type[Command] = Command
) -> Callable[[Function], Function]:
    """Return a decorator that adds a function to a program as one of its commands.

    A parameter that is a dataclass stands for options, one per field: commands share these by sharing it. See
    `declared` for how options are written.
    """
    add = app.command(cls=cls, context_settings={"obj": words or Words()})

    def decorate(function: Function) -> Function:
        add(_spread(function))
        return function

    return decorate


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes the fields of its records one by one, as typer reads signatures."""
    hints = get_type_hints(function, include_extras=True)
    records: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    given = inspect.signature(function).parameters.values()
    parameters: dict[str, inspect.Parameter] = {}
    for param in given:
        if param.name not in records:
            parts = [(param.name, hints[param.name], param.default)]
        else:
            kinds = get_type_hints(records[param.name], include_extras=True)
            parts = [(part.name, kinds[part.name], part.default) for part in fields(records[param.name])]
        for name, hint, default in parts:
            kind = declared(name, hint, default)
            parameters[name] = inspect.Parameter(name, param.kind, default=default, annotation=kind)

    @wraps(function)
    def run(**options: Any) -> Any:
        for name, record in records.items():
            options[name] = record(**{part.name: options.pop(part.name) for part in fields(record)})
        return function(**options)

    command: Any = run
    # arguments and required options first, which a signature demands
    ordered = sorted(parameters.values(), key=lambda param: param.default is not inspect.Parameter.empty)
    command.__signature__ = inspect.Signature(ordered)
    command.__annotations__ = {param.name: param.annotation for param in ordered}
    return run


class AtLeast(NamedTuple):
    """The least value of an option that is a number."""

    least: int


class OneOf(NamedTuple):
    """The names that an option may have as its value."""

    names: Sequence[str]


def declared(name: str, hint: Any, default: Any = None) -> Any:
    """Return the type of a parameter as typer reads it.

    An option is written `Annotated[type, "what --help says"]`, perhaps with `AtLeast` or `OneOf`. Its type
    says how its word is read, and a wrong word is answered in the words of this program.

    >>> declared("folds", Annotated[int, "How many.", AtLeast(2)]).__metadata__[0].parser("1")
    Traceback (most recent call last):
    pqp.cli.program.CommandError: --folds must be a whole number of at least 2, got '1'
    """
    kind, *notes = (hint.__origin__, *hint.__metadata__) if get_origin(hint) is Annotated else (hint,)
    if not notes or not isinstance(notes[0], str):
        return hint
    option, sentence, *limits = f"--{name.replace('_', '-')}", *notes
    base = get_args(kind)[0] if NoneType in get_args(kind) else kind
    limit = OneOf(get_args(base)) if get_origin(base) is Literal else next(iter(limits), None)
    if isinstance(limit, OneOf):
        names = list(limit.names)
        read = _reader(option, f"one of {', '.join(names)}", lambda word: names[names.index(word)], names)
        found = typer.Option(option, parser=read, metavar=f"<{'|'.join(names)}>", help=sentence)
    elif base in (int, float):
        least = None if limit is None else limit.least
        wanted = (
            f"a {'whole ' if base is int else ''}number{'' if least is None else f' of at least {least}'}"
        )
        read = _reader(option, wanted, partial(_number, kind=base, least=least))
        found = typer.Option(option, parser=read, metavar="<number>", help=sentence)
    else:
        # a flag that is off by default can only be switched on
        found = typer.Option(*([option] if base is bool and not default else []), help=sentence)
    return Annotated[kind, found]


def _reader(
    option: str, wanted: str, read: Callable[[Any], Any], names: Sequence[str] = ()
) -> Callable[[Any], Any]:
    """Return a function that reads a word, and answers a wrong one in the words of this program."""

    def answer(word: Any) -> Any:
        try:
            return read(word)
        except ValueError:
            near = difflib.get_close_matches(word, names, n=1) if names else []
            guess = f"; did you mean {near[0]!r}?" if near else ""
            raise CommandError(f"{option} must be {wanted}, got {word!r}{guess}") from None

    return answer


def _number(word: Any, kind: type[int] | type[float], least: int | None) -> float:
    value = kind(word)
    if least is not None and value < least:
        raise ValueError
    return value


def make_app() -> typer.Typer:
    """Return a program without commands: plain help, no completion, and tracebacks left to `main`."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def main(app: typer.Typer, program: str, arguments: Sequence[str] | None = None) -> int:
    """Run a program and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # names may not fit the terminal's encoding
    try:
        code = app(args=arguments, prog_name=program, standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        return close_pipe()
    except SystemExit:  # how typer leaves when nobody reads its help
        return PIPE_CLOSED
    except (KeyboardInterrupt, typer.Abort):
        error = CommandError("interrupted", INTERRUPTED)
    except Exception as raised:
        error = raised if isinstance(raised, CommandError) else _unexpected(program, raised)
    # one line on stderr, and one more for each detail
    lines = [f"{program}: {error.message}", *(f"- {detail}" for detail in error.details)]
    if error.message:
        print("\n".join(" ".join(line.split()) for line in lines), file=sys.stderr)
    return error.code


def _unexpected(program: str, error: Exception) -> CommandError:
    """Return what to say about an error that no command has put into words."""
    if hasattr(error, "format_message"):  # typer's own, about wrong usage
        where = getattr(getattr(error, "ctx", None), "command_path", program)
        sentence = error.format_message().rstrip(".")
        return CommandError(f"{sentence}{' Or' if sentence.endswith('?') else ';'} try '{where} --help'")
    if isinstance(error, OSError):
        return CommandError(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    return CommandError(f"a bug in {program}, please report it: {type(error).__name__}: {error}", FAILED)


def close_pipe() -> int:
    """Return the exit code after silencing stdout: whoever read it has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def show_version(context: typer.Context, wanted: bool) -> None:
    """Print the version and leave, if that is wanted."""
    if not wanted:
        return
    try:
        found = version("pqp")
    except PackageNotFoundError:
        found = "(version unknown: package not installed)"
    typer.echo(f"{context.find_root().info_name} {found}")
    raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit.")
]


def leave_if_stopped(stopped: str | None) -> None:
    """End the command with a code of its own if a limit or Ctrl-C cut the path."""
    if stopped:
        code = INTERRUPTED if stopped.startswith("interrupted") else STOPPED
        raise CommandError(f"{stopped}; the rest is missing", code)


def require_output(
    file: Path | None, suffixes: Sequence[str], option: str, inputs: Sequence[Path] = ()
) -> None:
    """Raise before any work if a result could not be written, or would replace an input."""
    if file is None:
        return
    if file.suffix not in suffixes:
        raise CommandError(f"{option} must end in {' or '.join(suffixes)}, got {str(file)!r}")
    if not file.parent.is_dir():
        raise CommandError(f"{option} {file}: there is no folder {str(file.parent)!r}")
    if file.is_dir():
        raise CommandError(f"{option} {file}: it is a folder")
    if file.resolve() in [given.resolve() for given in inputs]:
        raise CommandError(f"{option} {file} would overwrite the input; choose another name")


class Screen(Console):
    """Stdout: text is shown as it is, without markup, and wrapped to the terminal if it is one."""

    def __init__(self) -> None:
        width = None if sys.stdout.isatty() else WIDE
        super().__init__(markup=False, emoji=False, highlight=False, width=width)

    def on_broken_pipe(self) -> None:
        """Leave the decision to the command."""
        raise BrokenPipeError


class Report(Protocol):
    """A progress callback: receives what is going on, and the fraction done if it is known."""

    def __call__(self, text: str, done: float | None = None) -> None:
        """Show how far the work is."""


@contextmanager
def progress_bar(text: str = STARTING) -> Iterator[Report | None]:
    """Show a line on stderr while work goes on; yield its callback, None if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    due = time.monotonic()

    def report(text: str, done: float | None = None) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + REFRESH
            bar.update(task, description=text, completed=done or 0, total=None if done is None else 1)

    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(bar_width=20)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(text, total=None)
        yield report
        bar.refresh()


def say(text: str = "") -> None:
    """Print a line at once."""
    print(text, flush=True)


def lined_up(lines: Mapping[str, str]) -> str:
    """Return named lines with their texts below one another.

    >>> print(lined_up({"path": "2 pieces", "chosen": "C = 1"}))
    path    2 pieces
    chosen  C = 1
    """
    width = max(map(len, lines))
    return "\n".join(f"{name:<{width}}  {text}" for name, text in lines.items())


def text_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return a table as text, the first columns to the left and the others to the right.

    >>> print(text_table("Shares", ["product", "share"], [["ours", "52 %"], ["theirs", "7 %"]]))
    Shares
      product   share
     ─────────────────
      ours       52 %
      theirs      7 %
    """
    table = Table(box=SIMPLE_HEAD)
    for place, name in enumerate(header):
        table.add_column(name, justify="right" if place >= left else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    stream = io.StringIO()
    # as wide as it needs to be, without colours: it may go into a file
    console = Console(file=stream, width=WIDE, color_system=None, markup=False, emoji=False, highlight=False)
    console.print(table)
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    return "\n".join([title, *filter(None, lines)])
