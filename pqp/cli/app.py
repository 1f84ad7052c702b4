"""The command line: `pqp demo`, `pqp solve`, `pqp certify`."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pqp.certificate import check
from pqp.cli import program
from pqp.cli.demo import RESPONDENT, TASKS, conjoint_problem
from pqp.cli.program import (
    PICTURES,
    CommandError,
    Screen,
    Words,
    leave_if_stopped,
    require_output,
)
from pqp.cli.tables import path_table, shown_number, worth_table
from pqp.errors import CertificateError, ProblemError
from pqp.files import load_document, load_problem
from pqp.linalg.field import Number, is_infinite
from pqp.model.affine import read_number
from pqp.path.path import Path, require_verified
from pqp.solver import solve_path
from pqp.stopping import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURE = FilePath("pqp-demo.png")

app = program.make_app()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    return program.main(app, "pqp", arguments)


@app.callback(invoke_without_command=True, epilog=program.CODES)
def pqp(context: typer.Context, show_version: program.Version = False) -> None:
    """Trace exact solution paths of parametric quadratic programs, and prove them.

    \b
    Examples:
      pqp demo                              one respondent of a small conjoint study: path, proof, picture
      pqp solve budget.json --mu -2 8       every solution for mu from -2 to 8
      pqp solve budget.json --mu 0 inf --exact --save path.json --plot path.png
      pqp certify path.json                 prove a saved path in exact arithmetic

    Problem files are JSON; docs/file-format.md describes them. `pqp COMMAND --help` explains a command.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@program.command(app)
def demo(
    respondent: Annotated[
        int,
        "The respondent, by number: 1 to 12 care about the price, 13 to 23 about the brand, 24 "
        "always takes the first pack.",
    ] = RESPONDENT,
    tasks: Annotated[int, "Use the first so many of their 8 choices."] = TASKS,
    log: Annotated[bool, "Print every pivot first, with its reason; mu stands for C."] = False,
    out: Annotated[FilePath, "File of the picture: .png, .pdf or .svg."] = PICTURE,
) -> None:
    """Trace a small conjoint study: which part-worths explain the choices of one respondent?

    In every task a respondent is shown three packs of coffee and chooses one of them, or none. If they choose
    a, the part-worths v should satisfy v(a) >= v(b) + 1 for each alternative b that they did not choose. A
    violation of 1 costs C, relative to a cost of |v|^2 / 2 for the size of v. The path shows the part-worths
    for every C >= 0.

    \b
    Examples:
      pqp demo
      pqp demo --respondent 7 --out seven.svg    someone whose choices agree with each other
      pqp demo --tasks 1 --log                   a single choice, pivot by pivot
    """
    require_output(out, PICTURES, "--out")
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
    screen.print(f"Written: {out}", soft_wrap=True)
    leave_if_stopped(path.stopped)


@program.command(app, Words({"interval": "--mu"}, {"arithmetic": lambda kind: f"--{kind}"}))
def solve(
    file: Annotated[
        FilePath,
        typer.Argument(metavar="FILE", help="A problem file, see docs/file-format.md.", show_default=False),
    ],
    mu: Annotated[
        tuple[str, str],
        typer.Option(
            metavar="LO HI", help="The interval of mu, two numbers such as -2, 7/3, 0.5, inf, -inf."
        ),
    ],
    exact: Annotated[bool, "Compute in exact rational numbers instead of floats."] = False,
    rule: Annotated[str, "How pivots are chosen: least-index, lifo or most-often-selected."] = "least-index",
    log: Annotated[bool, "Print every pivot first, with its reason."] = False,
    save: Annotated[FilePath | None, "Save the path to this file: .json, or .npz without --exact."] = None,
    plot: Annotated[FilePath | None, "Draw the path into this file: .png, .pdf or .svg."] = None,
    max_pieces: Annotated[int | None, "Stop after this many pieces of the path."] = None,
    max_pivots: Annotated[int | None, "Stop after this many pivots."] = None,
    time_limit: Annotated[float | None, "Stop after this many seconds."] = None,
    memory_limit: Annotated[
        float | None, "Stop once the pieces found so far take this many megabytes."
    ] = None,
    on_trouble: Annotated[
        Literal["raise", "mark"], "Where float64 fails: raise, or mark the intervals it cannot verify."
    ] = "raise",
) -> None:
    """Solve a problem for every mu from LO to HI and print the path, piece by piece.

    Numbers are taken literally: 0.1 is the float nearest to one tenth, 1/10 is exactly one tenth.

    \b
    Examples:
      pqp solve budget.json --mu -2 8
      pqp solve budget.json --mu 0 7/3 --exact --log
      pqp solve budget.json --mu -inf inf --save path.json --plot path.png --time-limit 60
    """
    interval = _number(mu[0]), _number(mu[1])
    # npz files hold floats, so that an exact path needs JSON
    require_output(save, (".json",) if exact else (".json", ".npz"), "--save", [file])
    require_output(plot, PICTURES, "--plot", [file])
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
            memory_limit=memory_limit,
            on_trouble=on_trouble,
            progress=progress,
        )
    _deliver(path, save, plot)


@program.command(app)
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
        require_verified(document.get("segments"))
        with program.progress_bar(f"proving {file}"):
            certificate = check(document)
    except CertificateError as error:
        raise CommandError(f"{file} is not proved: {error}", program.FAILED) from None
    Screen().print(str(certificate))


def _deliver(path: Path, save: FilePath | None, plot: FilePath | None) -> None:
    """Print, save and draw a path; leave with a code of its own if it is not complete."""
    screen = Screen()
    # files first: a reader of stdout who leaves early must not cost the results
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
    leave_if_stopped(path.stopped)


def _draw(axes: "Axes", file: FilePath) -> None:
    figure: Any = axes.figure
    figure.savefig(file)


def _number(text: str) -> Number:
    try:
        return read_number(text)
    except ProblemError:
        raise CommandError(f"--mu needs two numbers such as -2, 7/3, 0.5 or inf, got {text!r}") from None


@contextmanager
def progress_line(lo: Number, hi: Number) -> Iterator[Callable[[Progress], None] | None]:
    """Yield what a trace from lo to hi reports its progress to; None if stderr is not a terminal."""
    has_ends = not is_infinite(lo) and not is_infinite(hi) and lo < hi
    with program.progress_bar() as show:
        if show is None:
            yield None
            return

        def report(progress: Progress) -> None:
            where = f"mu = {shown_number(progress.mu)} in [{shown_number(lo)}, {shown_number(hi)}]"
            done = float((progress.mu - lo) / (hi - lo)) if has_ends else None
            show(f"{where}: {progress.pieces} pieces, {progress.pivots} pivots", done)

        yield report
