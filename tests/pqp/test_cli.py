"""cli: each command does its job, and whatever is wrong is one line on stderr and an exit code."""

import io
import json
import math
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import pqp
from pqp import Progress, load_path, save_problem
from pqp.certificate import checker
from pqp.cli import app as cli
from pqp.cli import program
from pqp.cli.app import progress_line
from pqp.cli.demo import conjoint_problem, part_worth_names
from pqp.cli.tables import worth_table
from pqp.errors import CertificateError, InternalError, NumericalTroubleError, ProblemError
from tests.pqp.documents import HAND_WRITTEN

BUDGET = {**HAND_WRITTEN, "names": ["wine", "[cheese]"]}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Every test works in a folder of its own that holds budget.json."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    (tmp_path / "budget.json").write_text(json.dumps(BUDGET))
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run the command line; returns exit code, stdout, stderr."""

    def call(*words):
        code = cli.main(words)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


def cells(out):
    """The lines of a printed table as lists of words."""
    return [line.split() for line in out.splitlines()]


class TestSolve:
    @pytest.mark.parametrize("words", [(), ("--exact",), ("--exact", "--rule", "lifo")], ids=str)
    def test_path_is_printed_piece_by_piece(self, run, words):
        code, out, err = run("solve", "budget.json", "--mu", "-2", "8", *words)
        assert (code, err) == (0, "")
        assert cells(out)[:5] == [
            ["mu", "status", "wine", "[cheese]"],
            ["[-2,", "0)", "infeasible"],
            ["[0,", "1]", "optimal", "0", "0", "→", "1"],
            ["[1,", "5]", "optimal", "0", "→", "2", "1", "→", "3"],
            ["[5,", "8]", "optimal", "2", "3"],
        ]

    def test_negative_rational_and_infinite_ends_are_understood(self, run):
        code, out, _ = run("solve", "budget.json", "--exact", "--mu", "-inf", "1/3")
        assert code == 0
        assert "(-inf, 0)" in out
        assert "[0, 1/3]" in out

    def test_piece_without_end_is_shown_as_a_formula(self, run):
        save_problem(pqp.ParametricQP([[2]], [1 - pqp.mu]), "line.json")
        _, out, _ = run("solve", "line.json", "--mu", "0", "inf", "--exact")
        assert "-1/2 + 1/2 mu" in out

    def test_path_is_saved_and_drawn(self, run):
        words = ("--save", "path.json", "--plot", "path.png")
        code, out, _ = run("solve", "budget.json", "--mu", "-2", "8", "--exact", *words)
        assert code == 0
        assert "path.json" in out
        assert "path.png" in out
        assert load_path("path.json")(3).x.tolist() == [1, 2]

    def test_log_tells_every_pivot(self, run):
        _, out, _ = run("solve", "budget.json", "--mu", "-2", "8", "--exact", "--log")
        path = pqp.solve_path(pqp.files.load_problem("budget.json"), (-2, 8), arithmetic="exact", log=True)
        assert out.startswith(str(path.log))

    @pytest.mark.parametrize("words", [(), ("--exact",)], ids=["float", "exact"])
    @pytest.mark.parametrize(
        ("limit", "value"),
        [("--max-pieces", "2"), ("--max-pivots", "1"), ("--time-limit", "1e-9"), ("--memory-limit", "1e-6")],
    )
    def test_limit_gives_the_finished_part_and_code_3(self, run, limit, value, words):
        words = (*words, limit, value)
        code, out, err = run("solve", "budget.json", "--mu", "-2", "8", *words, "--save", "part.json")
        assert code == 3
        assert err.startswith(f"pqp: {limit[2:].replace('-', '_')} = ")
        assert err.count("\n") == 1
        assert load_path("part.json").stopped
        assert "8]" not in out.replace("-2, 8]", "")

    def test_wide_problem_names_the_variables_that_move_most(self, run):
        names = [f"{'long ' * 20}{j}" for j in range(12)]
        save_problem(pqp.ParametricQP(np.eye(12, dtype=int), [-pqp.mu] * 12, names=names), "wide.json")
        _, out, _ = run("solve", "wide.json", "--mu", "0", "1")
        assert f"{names[0]} 0 → 1, {names[1]} 0 → 1, {names[2]} 0 → 1 and 9 more" in out

    def test_long_path_is_shown_with_its_middle_left_out(self, run):
        n = 70
        save_problem(
            pqp.ParametricQP(np.eye(n, dtype=int), [-pqp.mu] * n, upper=list(range(1, n + 1))), "long.json"
        )
        _, out, _ = run("solve", "long.json", "--mu", "0", "100")
        assert "21 more" in out
        assert "[70, 100]" in out

    def test_numerical_trouble_is_code_1(self, run, monkeypatch):
        def trouble(*args, **options):
            raise NumericalTroubleError("lost accuracy on [0, 1]")

        monkeypatch.setattr(cli, "solve_path", trouble)
        assert run("solve", "budget.json", "--mu", "0", "1")[::2] == (
            1,
            "pqp: lost accuracy on [0, 1] (use --exact)\n",
        )

    @pytest.mark.parametrize("bug", [InternalError("it contradicts itself"), KeyError("x")], ids=repr)
    def test_bug_is_one_line_too(self, run, monkeypatch, bug):
        def fail(*args, **options):
            raise bug

        monkeypatch.setattr(cli, "solve_path", fail)
        code, _, err = run("solve", "budget.json", "--mu", "0", "1")
        assert code == 1
        assert err.startswith("pqp: a bug in pqp, please report it")
        assert err.count("\n") == 1


class TestCertify:
    @pytest.mark.parametrize("suffix", [".json", ".npz"])
    def test_true_path_is_proved(self, run, suffix):
        run("solve", "budget.json", "--mu", "-2", "8", "--save", f"path{suffix}")
        code, out, err = run("certify", f"path{suffix}")
        assert (code, err) == (0, "")
        assert out.startswith("Proved in exact rationals.")

    def test_untrue_path_is_code_1_and_one_line(self, run):
        run("solve", "budget.json", "--mu", "-2", "8", "--exact", "--save", "path.json")
        document = json.loads(Path("path.json").read_text())
        document["segments"][2]["x0"][0] = 7
        Path("path.json").write_text(json.dumps(document))
        code, out, err = run("certify", "path.json")
        assert (code, out) == (1, "")
        assert err.startswith("pqp: path.json is not proved: segments[2] on [1, 5]: x0[0]")
        assert err.count("\n") == 1


class TestDemo:
    def test_path_is_printed_proved_and_drawn(self, run, here):
        code, out, err = run("demo")
        assert (code, err) == (0, "")
        assert all(word in out for name in part_worth_names() for word in name.split())
        assert "Proved in exact rationals" in out
        assert "pqp-demo.png" in out
        assert (here / "pqp-demo.png").read_bytes().startswith(b"\x89PNG")

    def test_table_shows_the_part_worths_at_the_right_end_of_every_piece(self, run):
        _, out, _ = run("demo", "--respondent", "3", "--tasks", "4")
        path = pqp.solve_path(conjoint_problem(3, 4), (0, math.inf), arithmetic="exact")
        shown = {row[1]: row[2:] for row in cells(out) if row and row[0].startswith("[")}
        for piece in path.segments[:-1]:
            assert shown[f"{piece.hi}]"] == [str(value) for value in path(piece.hi).x]
        assert shown["inf)"] == [str(value) for value in path(path.breakpoints[-1]).x]

    def test_respondents_differ(self, run, monkeypatch):
        # on a busy machine a proof takes so long that its text says how long
        monkeypatch.setattr(checker, "REPORTED_SECONDS", math.inf)
        assert run("demo", "--respondent", "3") == run("demo", "--respondent", "3")
        assert run("demo", "--respondent", "3") != run("demo", "--respondent", "4")

    def test_number_of_tasks_and_name_of_the_picture_are_free(self, run, here):
        code, out, _ = run("demo", "--tasks", "5", "--out", "study.svg")
        assert code == 0
        assert "5 choices of respondent 12" in out
        assert b"<svg" in (here / "study.svg").read_bytes()

    def test_log_tells_every_pivot(self, run):
        _, out, _ = run("demo", "--tasks", "1", "--log")
        path = pqp.solve_path(conjoint_problem(tasks=1), (0, math.inf), arithmetic="exact", log=True)
        assert out.startswith(str(path.log))
        assert "1 choice of respondent 12" in out

    @pytest.mark.parametrize("respondent", [5, 12])
    def test_in_eighty_columns_numbers_are_rounded_and_whole(self, respondent):
        path = pqp.solve_path(conjoint_problem(respondent), (0, math.inf), arithmetic="exact")
        console = Console(width=80, file=io.StringIO())
        console.print(worth_table(path, "C", console))
        lines = console.file.getvalue().splitlines()[2:-1]
        assert len(lines) == len(path.segments)
        for line, piece in zip(lines, path.segments, strict=True):
            end, *worths = map(float, line.split())
            assert end == pytest.approx(float(piece.hi), rel=5e-3)
            at = piece.lo if piece.hi == math.inf else piece.hi
            assert worths == pytest.approx(path(at).x.astype(float).tolist(), abs=5.001e-3)
            assert "-0.00" not in line


WRONG = {
    "unknown command": ("slove", "No such command 'slove'"),
    "unknown option": ("--foo", "No such option"),
    "solve: no file": ("solve --mu 0 1", "Missing argument 'FILE'"),
    "solve: no mu": ("solve budget.json", "Missing option '--mu'"),
    "solve: one mu": ("solve budget.json --mu 1", "'--mu' requires 2 arguments; try 'pqp solve --help'"),
    "solve: mu is a word": ("solve budget.json --mu one 2", "--mu needs two numbers .* got 'one'"),
    "solve: mu is a formula of mu": ("solve budget.json --mu mu 2", "--mu needs two numbers"),
    "solve: mu reversed": ("solve budget.json --mu 2 1", "--mu must have lo ≤ hi"),
    "solve: mu empty": ("solve budget.json --mu inf inf", "contains no number"),
    "solve: file missing": ("solve none.json --mu 0 1", "none.json: No such file"),
    "solve: file is a folder": ("solve . --mu 0 1", "Is a directory"),
    "solve: file is no problem": ("solve text.json --mu 0 1", "text.json: the content is not JSON"),
    "solve: file has no format": (
        "solve empty.json --mu 0 1",
        'format must be "pqp-problem", got nothing; write "format": "pqp-problem"; docs/file-format.md',
    ),
    "certify: file has no format": (
        "certify empty.json",
        'format must be "pqp-path", got nothing; such files are written by path.save or `pqp solve --save`',
    ),
    "solve: rule unknown": ("solve budget.json --mu 0 1 --rule dantzig", "--rule must be 'least-index' or"),
    "solve: no pieces": ("solve budget.json --mu 0 1 --max-pieces 0", "--max-pieces must be positive"),
    "solve: pieces are a word": (
        "solve budget.json --mu 0 1 --max-pieces two",
        "--max-pieces must be a whole number, got '",
    ),
    "solve: saved as text": (
        "solve budget.json --mu 0 1 --save path.txt",
        "--save must end in .json or .npz",
    ),
    "solve: exact in npz": ("solve budget.json --mu 0 1 --exact --save path.npz", "--save must end in .json"),
    "solve: saved over itself": (
        "solve budget.json --mu 0 1 --save budget.json",
        "--save budget.json would overwrite the input",
    ),
    "solve: drawn nowhere": ("solve budget.json --mu 0 1 --plot none/path.png", "there is no folder 'none'"),
    "solve: drawn as text": ("solve budget.json --mu 0 1 --plot path.txt", "--plot must end in .png"),
    "certify: no file": ("certify", "Missing argument 'FILE'"),
    "certify: file missing": ("certify none.json", "none.json: No such file"),
    "certify: file is a problem": ("certify budget.json", 'format must be "pqp-path", got "pqp-problem"'),
    "certify: file is no JSON": ("certify text.json", "text.json: the content is not JSON"),
    "demo: respondent unknown": ("demo --respondent 25", "--respondent must be from 1 to 24, got 25"),
    "demo: respondent is nobody": ("demo --respondent 0", "--respondent must be from 1 to 24, got 0"),
    "demo: respondent is a word": ("demo --respondent all", "--respondent must be a whole number, got 'all'"),
    "demo: no tasks": ("demo --tasks 0", "--tasks must be from 1 to 8, got 0"),
    "demo: too many tasks": ("demo --tasks 9", "--tasks must be from 1 to 8, got 9"),
    "demo: drawn as text": ("demo --out picture.txt", "--out must end in .png"),
    "demo: argument too many": ("demo extra", "unexpected extra argument"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_is_code_2_and_one_line_that_says_why(case, run, here):
    words, reason = WRONG[case]
    (here / "text.json").write_text("hello")
    (here / "empty.json").write_text("{}")
    before = sorted(here.iterdir())
    code, out, err = run(*words.split())
    assert (code, out) == (2, "")
    assert err.startswith("pqp: ")
    assert err.count("\n") == 1
    assert re.search(reason, err)
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize(
    "words", [[], ["--help"], ["solve", "--help"], ["certify", "--help"], ["demo", "--help"]]
)
def test_help_teaches_by_example(words, run):
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert "Example" in out
    assert "pqp " in out


def test_help_lists_every_exit_code(run):
    _, out, _ = run("--help")
    text = " ".join(out.split())
    codes = (
        0,
        program.FAILED,
        program.WRONG_INPUT,
        program.STOPPED,
        program.INTERRUPTED,
        program.PIPE_CLOSED,
    )
    assert re.findall(r"(?:Exit codes:|;) (\d+) ", text[text.index("Exit codes") :]) == [*map(str, codes)]


def test_version_is_told(run):
    code, out, _ = run("--version")
    assert code == 0
    assert out.startswith("pqp")


def test_commands_are_a_typer_application():
    result = CliRunner().invoke(cli.app, ["solve", "budget.json", "--mu", "-2", "8"])
    assert result.exit_code == 0
    assert "infeasible" in result.output


class TestProgress:
    def test_it_is_shown_to_whoever_watches(self, capsys, monkeypatch):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        with progress_line(0, 8) as report:
            report(Progress(mu=1, pieces=2, pivots=3))
        assert "mu = 1 in [0, 8]: 2 pieces, 3 pivots" in capsys.readouterr().err

    def test_it_is_not_written_into_files(self, capsys):
        with progress_line(0, 8) as report:
            assert report is None
        assert capsys.readouterr() == ("", "")


class TestCtrlC:
    def test_trace_gives_the_finished_part_and_code_130(self, run, monkeypatch):
        @contextmanager
        def press_after_two_pieces(lo, hi):
            yield lambda progress: signal.raise_signal(signal.SIGINT) if progress.pieces == 2 else None

        monkeypatch.setattr(cli, "progress_line", press_after_two_pieces)
        code, out, err = run("solve", "budget.json", "--mu", "-2", "8", "--save", "part.json")
        assert code == 130
        assert err.startswith("pqp: interrupted at mu = ")
        assert "[0, 1]" in out
        assert len(load_path("part.json").segments) == 2

    def test_certificate_is_code_130(self, run, monkeypatch):
        run("solve", "budget.json", "--mu", "-2", "8", "--save", "path.json")
        monkeypatch.setattr(cli, "check", lambda document: signal.raise_signal(signal.SIGINT))
        code, out, _ = run("certify", "path.json")
        assert (code, out) == (130, "")


class TestErrorsInTheWordsOfACommand:
    """A command that calls `orders` --order, and the exact arithmetic --exact."""

    @pytest.fixture
    def fails(self, capsys):
        """Return what a command prints on stderr, and its exit code, if it raises an error."""

        def call(error, file=None):
            app = program.make_app()
            app.callback()(lambda: None)

            def work(max_size: int = 1, orders_: str = "", is_on: bool = False) -> None:
                with nullcontext() if file is None else program.about_file("FILE", Path(file)):
                    raise error

            program.command(app, program.Words({"orders": "--order"}, {"method": lambda name: f"--{name}"}))(
                work
            )
            code = program.main(app, "prog", ["work"])
            return code, capsys.readouterr().err.removeprefix("prog: ").removesuffix("\n")

        return call

    @pytest.mark.parametrize(
        ("argument", "option"),
        [
            ("max_size", "--max-size"),
            ("Max_Size", "--max-size"),
            ("max_size[3]", "--max-size[3]"),
            ("orders['price']", "--order price"),
            ("penalty", "penalty"),
        ],
    )
    def test_arguments_are_called_like_their_options(self, fails, argument, option):
        error = ProblemError(argument=argument, found=0, expected="positive")
        assert fails(error) == (2, f"{option} must be positive, got 0")

    @pytest.mark.parametrize(
        ("setting", "remedy"),
        [
            (("max_size", 2), "; pass --max-size 2"),
            (("max_size", "a b"), "; pass --max-size 'a b'"),
            (("is_on", True), "; pass --is-on"),
            (("method", "fast"), "; pass --fast"),
            (("penalty", 1), ""),
        ],
    )
    def test_a_remedy_is_an_option_or_left_out(self, fails, setting, remedy):
        error = ProblemError("too large", remedy="pass {setting}", setting=setting)
        assert fails(error) == (2, f"too large{remedy}")

    @pytest.mark.parametrize(
        ("error", "sentence"),
        [
            (ProblemError("it is empty"), "FILE a.csv: it is empty"),
            (ProblemError("a.csv is empty"), "FILE a.csv is empty"),
            (
                ProblemError("{argument} {found} is empty", argument="path", found="a.csv"),
                "FILE a.csv is empty",
            ),
            (PermissionError(13, "Permission denied", "a.csv"), "FILE a.csv: Permission denied"),
        ],
    )
    def test_an_error_about_a_file_names_the_argument_and_the_file_once(self, fails, error, sentence):
        assert fails(error, "a.csv") == (2, sentence)

    def test_text_of_users_is_not_taken_for_a_part_of_the_message(self, fails):
        assert (
            fails(ProblemError("{found}", found="{argument}"), "{found}.csv")[1]
            == "FILE {found}.csv: {argument}"
        )

    @pytest.mark.parametrize("error", [CertificateError("no"), NumericalTroubleError("no")])
    def test_what_is_not_the_fault_of_the_input_is_code_1(self, fails, error):
        assert fails(error) == (1, "no")

    def test_every_detail_has_a_line(self, fails):
        assert fails(program.CommandError("two\nthings", 2, ["a  b", "c"])) == (2, "two things\n- a b\n- c")


class TestProcess:
    def test_module_is_the_command_line(self):
        done = self.start("pqp", "solve", "budget.json", "--mu", "3", "1")
        assert done.communicate()[1].startswith("pqp: --mu must have lo ≤ hi")
        assert done.returncode == 2

    def test_reader_that_leaves_early_is_no_error(self):
        process = self.start("pqp", "solve", "budget.json", "--mu", "-2", "8", "--log")
        process.stdout.close()
        assert process.stderr.read() == ""
        process.stderr.close()
        assert process.wait() == 141

    @staticmethod
    def start(module, *words):
        return subprocess.Popen(
            [sys.executable, "-m", module, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
