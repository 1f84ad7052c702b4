"""The command line: `pqp demo`, `pqp solve`, `pqp certify`."""

import io
import math
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pqp.certificate import check
from pqp.cli.demo import RESPONDENT, TASKS, conjoint_problem
from pqp.cli.tables import path_table, worth_table
from pqp.cli.terminal import Screen, close_pipe, complain, progress_line, waiting
from pqp.errors import CertificateError, InternalError, NumericalTroubleError, PQPError, ProblemError
from pqp.files import load_document, load_problem
from pqp.linalg.field import Number
from pqp.model.affine import read_number
from pqp.path.path import Path
from pqp.solver import solve_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Exit codes; 0 is success, and 130 what shells report for a program that Ctrl-C ended.
UNPROVED, WRONG_INPUT, STOPPED, INTERRUPTED = 1, 2, 3, 130
CODES = (
    "Exit codes: 0 done; 1 the certificate failed, or numerical trouble; 2 wrong usage, or a wrong file; "
    "3 a limit stopped the trace, the finished part is printed and saved; 130 interrupted."
)
PICTURES, PICTURE = (".png", ".pdf", ".svg"), FilePath("pqp-demo.png")

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # names may not fit the terminal's encoding
    try:
        code = app(args=arguments, prog_name="pqp", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        return complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        return close_pipe()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    except Exception as error:
        return complain(*_explained(error))


def _explained(error: Exception) -> tuple[str, int]:
    """Return what to say about an error and the exit code."""
    if hasattr(error, "format_message"):  # typer's own, about wrong usage
        return f"{error.format_message().rstrip('.')}; try 'pqp --help'", WRONG_INPUT
    if isinstance(error, NumericalTroubleError):
        return f"{error} (here: --exact)", UNPROVED
    if isinstance(error, PQPError) and not isinstance(error, InternalError):
        return str(error), UNPROVED if isinstance(error, CertificateError) else WRONG_INPUT
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error), WRONG_INPUT
    return f"a bug in pqp, please report it: {type(error).__name__}: {error}", UNPROVED


def _show_version(wanted: bool) -> None:
    if wanted:
        try:
            typer.echo(f"pqp {version('pqp')}")
        except PackageNotFoundError:
            typer.echo("pqp, run from a folder without being installed")
        raise typer.Exit


@app.callback(invoke_without_command=True, epilog=CODES)
def pqp(
    context: typer.Context,
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and leave."),
    ] = False,
) -> None:
    """Trace exact solution paths of parametric quadratic programs, and prove them.

    \b
    Examples:
      pqp demo                              someone in a small conjoint study: path, proof, picture
      pqp solve budget.json --mu -2 8       every solution for mu from -2 to 8
      pqp solve budget.json --mu 0 inf --exact --save path.json --plot path.png
      pqp certify path.json                 prove a saved path in exact arithmetic

    Problem files are JSON: docs/file-format.md describes them. `pqp COMMAND --help` tells more.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def demo(
    respondent: Annotated[
        int,
        typer.Option(
            help="Whose choices: 1 to 12 mind the price, 13 to 23 the brand, 24 takes the first pack."
        ),
    ] = RESPONDENT,
    tasks: Annotated[int, typer.Option(help="How many of his choices, the first ones.")] = TASKS,
    log: Annotated[
        bool, typer.Option("--log", help="Print every pivot first, with its reasons; mu is C.")
    ] = False,
    out: Annotated[FilePath, typer.Option(help="The picture: .png, .pdf or .svg.")] = PICTURE,
) -> None:
    """Trace a small conjoint study: which part-worths explain the choices someone made?

    Asked for one of three packs of coffee or none of them, someone chose a. That asks for part-worths v
    with v(a) >= v(b) + 1 for each b he did not choose; C is the price of missing this by 1, beside a cost of
    |v|^2 / 2. The path shows the part-worths for every C >= 0.

    \b
    Examples:
      pqp demo
      pqp demo --respondent 7 --out seven.svg    someone whose choices agree with each other
      pqp demo --tasks 1 --log                   a single choice, pivot by pivot
    """
    _require_place(out, PICTURES, "--out")
    screen = Screen()
    problem = conjoint_problem(respondent, tasks)
    with progress_line(0, math.inf) as progress:
        path = solve_path(problem, (0, math.inf), arithmetic="exact", log=log, progress=progress)
    if path.log is not None:
        screen.print(f"{path.log}\n", soft_wrap=True)
    title = f"Part-worths from {tasks} choice{'s' if tasks > 1 else ''} of respondent {respondent}"
    screen.print(f"{title}, where each range of C ends:\n")
    screen.print(worth_table(path, "C", screen))
    if not path.stopped:
        screen.print(f"\n{path.certify()}\n")
    axes = path.plot()
    axes.set(xlabel="C", ylabel="part-worth", title=f"{title}, for every C")
    _draw(axes, out)
    screen.print(f"The picture is in {out}", soft_wrap=True)
    _leave_if_stopped(path)


@app.command()
def solve(
    file: Annotated[
        FilePath,
        typer.Argument(metavar="FILE", help="A problem file, see docs/file-format.md.", show_default=False),
    ],
    mu: Annotated[
        tuple[str, str],
        typer.Option(metavar="LO HI", help="The ends: numbers such as -2, 7/3, 0.5, inf, -inf."),
    ],
    exact: Annotated[bool, typer.Option("--exact", help="Compute in rationals instead of floats.")] = False,
    rule: Annotated[
        str, typer.Option(help="How pivots are chosen: least-index, lifo, most-often-selected.")
    ] = "least-index",
    log: Annotated[bool, typer.Option("--log", help="Print every pivot with its reasons first.")] = False,
    save: Annotated[FilePath | None, typer.Option(help="Write the path to a .json or .npz file.")] = None,
    plot: Annotated[FilePath | None, typer.Option(help="Draw the path: .png, .pdf or .svg.")] = None,
    max_pieces: Annotated[int | None, typer.Option(help="Stop after so many pieces.")] = None,
    max_pivots: Annotated[int | None, typer.Option(help="Stop after so many pivots.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Stop after so many seconds.")] = None,
) -> None:
    """Solve a problem for every mu from LO to HI and print the path, piece by piece.

    Numbers are taken at face value: 0.1 is the float next to a tenth, 1/10 is a tenth.

    \b
    Examples:
      pqp solve budget.json --mu -2 8
      pqp solve budget.json --mu 0 7/3 --exact --log
      pqp solve budget.json --mu -inf inf --save path.json --plot path.png --time-limit 60
    """
    interval = _number(mu[0]), _number(mu[1])
    _require_outputs(file, save, plot, exact)
    problem = load_problem(file)
    with progress_line(*interval) as progress:
        path = solve_path(
            problem,
            interval,
            arithmetic="exact" if exact else "float",
            log=log,
            rule=rule,
            max_pieces=max_pieces,
            max_pivots=max_pivots,
            time_limit=time_limit,
            progress=progress,
        )
    _deliver(path, save, plot)


@app.command()
def certify(
    file: Annotated[
        FilePath,
        typer.Argument(
            metavar="FILE", help="A path file, from `pqp solve --save` or path.save.", show_default=False
        ),
    ],
) -> None:
    """Prove a saved path in exact rational arithmetic, with code that shares nothing with the solver.

    \b
    Example:
      pqp solve budget.json --mu -2 8 --save path.json && pqp certify path.json
    """
    document = load_document(file)
    try:
        with waiting(f"proving {file}"):
            certificate = check(document)
    except CertificateError as error:
        raise CertificateError(f"{file} is not proved: {error}") from None
    Screen().print(str(certificate))


def _deliver(path: Path, save: FilePath | None, plot: FilePath | None) -> None:
    """Print, save and draw a path; leave with a code of its own if it is not complete."""
    screen = Screen()
    if save:
        path.save(save)
    if plot:
        _draw(path.plot(), plot)
    if path.log is not None:
        screen.print(f"{path.log}\n", soft_wrap=True)
    screen.print(path_table(path, screen))
    screen.print(f"\n{path!r}")
    for written in filter(None, (save, plot)):
        screen.print(f"Written: {written}", soft_wrap=True)
    _leave_if_stopped(path)


def _draw(axes: "Axes", file: FilePath) -> None:
    figure: Any = axes.figure
    figure.savefig(file)


def _leave_if_stopped(path: Path) -> None:
    if path.stopped:
        code = INTERRUPTED if path.stopped.startswith("interrupted") else STOPPED
        raise typer.Exit(complain(path.stopped.replace("path.extend goes on", "the rest is missing"), code))


def _number(text: str) -> Number:
    try:
        return read_number(text)
    except ProblemError:
        raise ProblemError(f"--mu needs two numbers such as -2, 7/3, 0.5 or inf, got {text!r}") from None


def _require_outputs(file: FilePath, save: FilePath | None, plot: FilePath | None, exact: bool) -> None:
    """Raise before any work if its results could not be written."""
    if save:
        _require_place(save, (".json",) if exact else (".json", ".npz"), "--save")
        if save.resolve() == file.resolve():
            raise ProblemError(f"--save {save} would overwrite the problem; choose another name")
    if plot:
        _require_place(plot, PICTURES, "--plot")


def _require_place(file: FilePath, suffixes: Sequence[str], option: str) -> None:
    if file.suffix not in suffixes:
        raise ProblemError(f"{option} must end in {' or '.join(suffixes)}, got {str(file)!r}")
    if not file.parent.is_dir():
        raise ProblemError(f"{option} {file}: there is no folder {str(file.parent)!r}")
