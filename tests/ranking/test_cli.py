"""cli: each command does its job, and whatever is wrong is one line on stderr and an exit code."""

import gzip
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pqp
from pqp.cli.program import progress_bar
from ranking import ConvergenceError, RankSVMPath, preference_pairs, read_letor, write_letor
from ranking.cli import app as cli
from ranking.cli.app import mixture_items
from ranking.core.kernels import PARAMETERS
from ranking.metrics import metric_table
from ranking.metrics.levels import LEVEL_METRICS
from ranking.selection.choice_along_path import NAMES
from tests.data_folder import DATA, needs
from tests.ranking.studies import items

FILES = {"train": items(15, 0, queries=3), "vali": items(15, 1, queries=3), "test": items(15, 2, queries=3)}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Every test works in a folder of its own that holds the same items as LETOR text and as tables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    for name, part in FILES.items():
        write_letor(tmp_path / f"{name}.svm", part.X, part.y, part.qid)
        part.X.assign(label=part.y, qid=part.qid).to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def lines(out):
    """The printed lines by their first words."""
    return dict(re.split(r"\s{2,}|: ", line, maxsplit=1) for line in out.splitlines() if line.strip())


@pytest.fixture(scope="module")
def model():
    train, vali = FILES["train"], FILES["vali"]
    fitted = RankSVMPath(C_max=20).fit(train.X, train.y, train.qid)
    fitted.select(vali.X, vali.y, vali.qid)
    return fitted


class TestRankSVM:
    @pytest.mark.parametrize("ending", ["svm", "csv --label label"])
    def test_path_choice_and_metrics_are_printed(self, run, model, ending):
        kind, *words = ending.split()
        command = f"ranksvm train.{kind} --validate vali.{kind} --test test.{kind} --c-max 20"
        code, out, err = run(" ".join([command, *words]))
        assert (code, err) == (0, "")
        found, test = lines(out), FILES["test"]
        assert found["path"].startswith(f"{len(model.path_.segments)} pieces for C from 0 to 20")
        assert found["chosen"] == f"C = {model.C_:.6g}, lambda = {1 / model.C_:.6g} (best)"
        assert found["test metric"] == f"pairwise_accuracy {model.score(test.X, test.y, test.qid):.6g}"
        assert found["pairs"] == f"{len(model.preferences_)} pairs (full)"

    def test_report_and_scores_are_written(self, run, here, model):
        command = "ranksvm train.svm --validate vali.svm --test test.svm --c-max 20"
        code, out, _ = run(f"{command} --report out.html --scores scores.csv")
        assert code == 0
        assert out.endswith("Written: out.html\nWritten: scores.csv\n")
        assert f"{model.C_:.6g}" in (here / "out.html").read_text()
        written = pd.read_csv("scores.csv")
        np.testing.assert_allclose(written["score"], model.decision_function(FILES["test"].X))
        assert written["rank"].tolist() == model.rank(FILES["test"].X, FILES["test"].qid).tolist()

    def test_old_report_is_replaced(self, run, here):
        (here / "out.html").write_text("old")
        assert run("ranksvm train.svm --validate vali.svm --c-max 1 --report out.html")[0] == 0
        assert "RankSVM" in (here / "out.html").read_text()

    def test_without_validation_items_folds_choose(self, run):
        code, out, _ = run("ranksvm train.svm --folds 3 --c-max 5 --choice one-standard-error --seed 1")
        assert code == 0
        assert "on 3 folds of the training items" in lines(out)["best"]
        assert "(one-standard-error)" in lines(out)["chosen"]

    def test_kernel_reduction_and_metric_are_used(self, run):
        options = "--kernel rbf --gamma 0.5 --reduction tree --metric ndcg --c-max 5"
        code, out, _ = run(f"ranksvm train.svm --validate vali.svm {options}")
        train, vali = FILES["train"], FILES["vali"]
        fitted = RankSVMPath(C_max=5, kernel="rbf", gamma=0.5, reduction="tree")
        curve = fitted.fit(train.X, train.y, train.qid).select(vali.X, vali.y, vali.qid, "ndcg")
        assert code == 0
        assert lines(out)["pairs"] == f"{len(fitted.preferences_)} pairs (tree)"
        assert lines(out)["validation metric"] == f"ndcg {curve.best:.6g}"

    def test_same_words_give_the_same_files(self, run, here):
        for name in ("one.csv", "two.csv"):
            run(f"ranksvm train.svm --folds 3 --c-max 5 --scores {name}")
        assert (here / "one.csv").read_bytes() == (here / "two.csv").read_bytes()

    def test_compressed_files_are_read(self, run, here):
        for name in ("train.svm", "vali.csv"):
            (here / f"{name}.gz").write_bytes(gzip.compress((here / name).read_bytes()))
        assert run("ranksvm train.svm.gz --validate vali.svm --c-max 1")[0] == 0
        assert run("ranksvm train.csv --validate vali.csv.gz --label label --c-max 1")[0] == 0

    def test_columns_of_a_table_may_come_in_another_order(self, run, here):
        reverse = pd.read_csv("vali.csv").iloc[:, ::-1]
        reverse.to_csv("vali2.csv", index=False)
        command = "ranksvm train.csv --label label --c-max 5 --validate"
        first, second = (lines(run(f"{command} {name}.csv")[1]) for name in ("vali", "vali2"))
        assert first["chosen"] == second["chosen"]

    def test_missing_last_features_of_a_LETOR_file_are_zero(self, run, here):
        data = read_letor("vali.svm")
        write_letor("short.svm", data.X[:, :3], data.y, data.qid)
        assert run("ranksvm train.svm --validate short.svm --c-max 1")[0] == 0

    def test_columns_can_be_left_out_and_queries_with_them(self, run):
        code, out, _ = run("ranksvm train.csv --label label --ignore price --ignore qid --c-max 1")
        assert code == 0
        assert lines(out)["training"] == "15 rows, 3 features, from train.csv"

    def test_limit_gives_what_follows_from_the_finished_part_and_code_3(self, run, here):
        code, out, err = run("ranksvm train.svm --validate vali.svm --max-pieces 3 --report out.html")
        assert code == 3
        assert err.startswith("ranking: max_pieces = 3")
        assert err.count("\n") == 1
        assert "3 pieces" in out
        assert "no: max_pieces = 3" in (here / "out.html").read_text()

    @pytest.mark.parametrize(
        ("error", "code"), [(ConvergenceError("lost"), 1), (pqp.NumericalTroubleError("lost"), 1)]
    )
    def test_numerical_trouble_is_code_1(self, run, monkeypatch, error, code):
        def fail(*arguments, **options):
            raise error

        monkeypatch.setattr(cli, "conduct", fail)
        assert run("ranksvm train.svm")[::2] == (code, "ranking: lost\n")

    def test_bug_is_one_line_too(self, run, monkeypatch):
        monkeypatch.setattr(cli, "conduct", lambda *arguments: {}["x"])
        code, _, err = run("ranksvm train.svm")
        assert (code, err) == (1, "ranking: a bug in ranking, please report it: KeyError: 'x'\n")

    def test_interrupted_path_gives_its_finished_part_and_code_130(self, run, monkeypatch):
        @contextmanager
        def press_at_once():
            yield lambda text: signal.raise_signal(signal.SIGINT) if text.endswith(": 2 pieces") else None

        monkeypatch.setattr(cli, "progress_bar", press_at_once)
        code, out, err = run("ranksvm train.svm --validate vali.svm")
        assert code == 130
        assert err.startswith("ranking: interrupted at")
        assert "chosen" in out

    @needs("lambdarank_example")
    def test_published_files_are_read(self, run):
        folder = DATA / "lambdarank_example"
        code, out, _ = run(f"graph {folder / 'train.svm.gz'}")
        data = read_letor(folder / "train.svm.gz")
        assert code == 0
        assert lines(out)["full"] == str(len(preference_pairs(data.y, data.qid)))


class TestGraph:
    def test_pairs_of_every_reduction_are_counted(self, run):
        code, out, _ = run("graph train.svm")
        train = FILES["train"]
        assert code == 0
        for name in ("full", "levels", "tree", "transitive"):
            assert lines(out)[name] == str(len(preference_pairs(train.y, train.qid, name)))
        assert lines(out)["cycle"] == "none"

    def test_contradictory_pairs_are_named(self, run):
        Path("pairs.csv").write_text("preferred,other\nAnna,Bert\nBert,Carl\nCarl,Anna\nCarl,Dora\n")
        code, out, _ = run("graph pairs.csv --reduction full --plot graph.png")
        assert code == 0
        assert lines(out)["cycle"] == "Anna > Bert > Carl > Anna"
        assert lines(out)["full"] == "4"
        assert Path("graph.png").read_bytes().startswith(b"\x89PNG")

    def test_pairs_that_follow_from_others_are_counted(self, run):
        Path("pairs.csv").write_text("preferred,other\n1,2\n2,3\n1,3\n")
        assert lines(run("graph pairs.csv")[1])["transitive"] == "2"

    def test_graph_is_drawn(self, run, here):
        assert run("graph train.csv --label label --reduction tree --plot tree.svg")[0] == 0
        assert b"<svg" in (here / "tree.svg").read_bytes()


class TestMetrics:
    @pytest.mark.parametrize("text", ["score\n{}\n", "{}\n"], ids=["table", "bare numbers"])
    def test_table_is_printed_with_definitions(self, run, text):
        test = FILES["test"]
        scores = test.X["price"].to_numpy()
        Path("scores.csv").write_text(text.format("\n".join(map(repr, scores.tolist()))))
        code, out, _ = run("metrics test.svm scores.csv --k 3")
        assert code == 0
        for row in metric_table(test.y, scores, test.qid, k=3).itertuples():
            assert re.search(rf"{row.metric}\s+{re.escape(f'{row.value:.6g}')}\d*\s", out)
            assert row.definition in out

    def test_scores_of_ranksvm_are_understood(self, run):
        command = "ranksvm train.svm --validate vali.svm --test test.svm --c-max 5 --scores scores.csv"
        value = lines(run(command)[1])["test metric"].split()[1]
        assert value in run("metrics test.svm scores.csv")[1]


class TestDemo:
    def test_report_and_picture_are_written(self, run, here):
        code, out, err = run("demo --items 12")
        assert (code, err) == (0, "")
        assert (here / "ranking-demo.png").read_bytes().startswith(b"\x89PNG")
        assert "<h2>Scores</h2>" in (here / "ranking-demo.html").read_text()
        assert "ranking-demo.html" in out

    def test_seed_decides_the_items(self):
        first, again, other = (mixture_items(10, seed)[0].X for seed in (3, 3, 4))
        assert first.equals(again)
        assert not first.equals(other)


TABLE = "train.csv --label label"
WRONG = {
    "unknown command": ("rnaksvm", "No such command 'rnaksvm'"),
    "unknown option": ("--foo", "No such option"),
    "no file": ("ranksvm", "Missing argument 'TRAIN'"),
    "file missing": ("ranksvm none.svm", "TRAIN none.svm: No such file"),
    "table missing": ("ranksvm none.csv", "TRAIN none.csv: No such file"),
    "validation file missing": ("ranksvm train.svm --validate none.svm", "--validate none.svm: No such file"),
    "test file missing": (f"ranksvm {TABLE} --test none.csv", "--test none.csv: No such file"),
    "file is a folder": ("ranksvm folder.svm", "TRAIN folder.svm: Is a directory"),
    "unknown kind of file": ("ranksvm train.pdf", r"TRAIN train.pdf: its name must end in \.csv, \.svm"),
    "no label column": (
        "ranksvm train.csv",
        "TRAIN train.csv: there is no column 'y' .--label.; the columns are",
    ),
    "no query column": (f"ranksvm {TABLE} --query session", "no column 'session' .--query.; the columns are"),
    "no column to ignore": (f"ranksvm {TABLE} --ignore colour", "no column 'colour' .--ignore."),
    "word in a table": (
        "ranksvm word.csv",
        "TRAIN word.csv: column 'a', row 2 is 'big', not a finite number.*--ignore a.$",
    ),
    "gap in a table": ("ranksvm gap.csv", "TRAIN gap.csv: column 'a', row 2 is empty"),
    "infinity in a table": ("ranksvm inf.csv", "TRAIN inf.csv: column 'a', row 1 is inf"),
    "label missing in a table": ("ranksvm gap.csv --label a", "column 'a', row 2 is empty"),
    "query missing in a table": ("ranksvm query.csv", "TRAIN query.csv: column 'qid', row 1 is empty"),
    "column twice": ("ranksvm twice.csv", "TRAIN twice.csv: the column 'a' occurs twice"),
    "no feature": ("ranksvm bare.csv", "TRAIN bare.csv: there is no feature"),
    "empty table": ("ranksvm empty.csv", "TRAIN empty.csv: it is not a CSV file"),
    "header only": ("ranksvm header.csv", "TRAIN header.csv: there is no row"),
    "damaged gzip": ("ranksvm broken.csv.gz", "TRAIN broken.csv.gz"),
    "NaN in LETOR": ("ranksvm nan.svm", "TRAIN nan.svm, line 1: labels and features must be finite"),
    "LETOR without queries": ("ranksvm noqid.svm", "TRAIN noqid.svm, line 1: no qid:number"),
    "features too many": ("ranksvm train.svm --test wide.svm", "--test wide.svm, line 1: "),
    "features differ": (
        f"ranksvm {TABLE} --test word.csv --label label",
        "--test word.csv: there is no column 'label'",
    ),
    "labels all equal": ("ranksvm equal.csv", "equal.csv cannot be measured by pairwise_accuracy"),
    "kernel unknown": (
        "ranksvm train.svm --kernel rfb",
        "^ranking: --kernel must be one of linear, rbf, .*, got 'rfb'; did you mean 'rbf'\\?$",
    ),
    "gamma is a word": (
        "ranksvm train.svm --gamma big",
        "--gamma must be a number, scale or auto, got 'big'",
    ),
    "gamma negative": (
        "ranksvm train.svm --validate vali.svm --gamma -1",
        "--gamma must be a positive number",
    ),
    "reduction unknown": ("ranksvm train.svm --reduction forest", "--reduction must be one of .*, got '"),
    "metric unknown": ("ranksvm train.svm --metric auc", "^ranking: --metric must be one of .*, got 'auc'$"),
    "choice unknown": ("ranksvm train.svm --choice worst", "--choice must be one of .*, got '"),
    "C_max negative": ("ranksvm train.svm --validate vali.svm --c-max -1", "--c-max must be a positive"),
    "one fold": (
        "ranksvm train.svm --folds 1",
        "^ranking: --folds must be a whole number of at least 2, got '1'$",
    ),
    "half a fold": (
        "ranksvm train.svm --folds 2.5",
        "--folds must be a whole number of at least 2, got '2.5'",
    ),
    "degree is a word": ("ranksvm train.svm --degree high", "--degree must be a number, got 'high'$"),
    "more folds than queries": ("ranksvm train.svm --folds 4", "at most 3, the number of queries"),
    "limit without validation": ("ranksvm train.svm --max-pieces 5", "need --validate"),
    "report into no folder": ("ranksvm train.svm --report none/out.html", "--report .*no folder 'none'"),
    "report as text": ("ranksvm train.svm --report out.txt", r"--report must end in \.html"),
    "report is a folder": ("ranksvm train.svm --report folder.html", "--report folder.html: it is a folder"),
    "scores over the data": (f"ranksvm {TABLE} --scores train.csv", "--scores train.csv would overwrite"),
    "graph: file missing": ("graph none.csv", "FILE none.csv: No such file"),
    "graph: pairs have no levels": ("graph pairs.csv --plot x.png", "--reduction tree needs labels"),
    "graph: cycle has no reduction": ("graph pairs.csv --reduction transitive --plot x.png", "0 > 1 > 0"),
    "graph: drawn as text": ("graph train.svm --plot x.txt", r"--plot must end in \.png"),
    "metrics: too few scores": ("metrics train.svm two.csv", "SCORES two.csv has 2 scores, but .* 15 items"),
    "metrics: no scores": ("metrics train.svm train.csv", "SCORES train.csv: there must be a column 'score'"),
    "metrics: scores missing": ("metrics train.svm none.csv", "SCORES none.csv: No such file"),
    "demo: odd": ("demo --items 5", "--items must be an even number"),
    "demo: report as text": ("demo --out x.txt", r"--out must end in \.html"),
}
CONTENTS = {
    "train.pdf": "",
    "word.csv": "y,a\n1,2\n0,big\n",
    "gap.csv": "y,a,b\n1,2,0\n0,,0\n",
    "inf.csv": "y,a\n1,inf\n0,1\n",
    "query.csv": "y,qid,a\n1,,2\n0,1,1\n",
    "twice.csv": "y,a,a\n1,2,3\n0,1,1\n",
    "bare.csv": "y,qid\n1,2\n0,1\n",
    "empty.csv": "",
    "header.csv": "y,a\n",
    "broken.csv.gz": "\x1f",
    "nan.svm": "1 qid:1 1:nan\n0 qid:1 1:2\n",
    "noqid.svm": "1 1:3\n0 1:2\n",
    "wide.svm": "1 qid:1 9:3\n0 qid:1 1:2\n",
    "equal.csv": "y,a\n1,2\n1,3\n",
    "pairs.csv": "preferred,other\nA,B\nB,A\n",
    "two.csv": "score\n1\n2\n",
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_is_code_2_and_one_line_that_says_why(case, run, here):
    words, reason = WRONG[case]
    for name, text in CONTENTS.items():
        (here / name).write_text(text)
    for folder in ("folder.svm", "folder.html"):
        (here / folder).mkdir()
    before = sorted(here.iterdir())
    code, out, err = run(words)
    assert (code, out) == (2, ""), err
    assert err.startswith("ranking: ")
    assert err.count("\n") == 1
    assert re.search(reason, err), err
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize(
    "words", ["", "--help", *(f"{c} --help" for c in ("ranksvm", "graph", "metrics", "demo"))]
)
def test_help_teaches_by_example(words, run):
    code, out, err = run(words)
    assert (code, err) == (0, "")
    assert "Example" in out
    assert "ranking " in out


@pytest.mark.parametrize(
    ("command", "option", "names"),
    [
        ("ranksvm", "--kernel", set(PARAMETERS) - {"precomputed"}),
        ("ranksvm", "--metric", NAMES),
        ("ordinal", "--kernel", set(PARAMETERS) - {"precomputed"}),
        ("ordinal", "--metric", LEVEL_METRICS),
    ],
)
def test_help_lists_every_kernel_and_metric_of_the_library(run, command, option, names):
    _, out, _ = run(f"{command} --help")
    assert set(re.search(rf"{option} <(.*)>", out)[1].split("|")) == set(names)


def test_version_is_told(run):
    code, out, _ = run("--version")
    assert code == 0
    assert out.startswith("ranking")


def test_commands_are_a_typer_application():
    result = CliRunner().invoke(cli.app, ["graph", "train.svm"])
    assert result.exit_code == 0
    assert "full" in result.output


def test_failing_report_leaves_the_old_one(run, here, monkeypatch):
    (here / "out.html").write_text("old")

    def fail(study):
        raise OSError(28, "No space left on device", "out.html")

    monkeypatch.setattr(cli, "report_html", fail)
    code, out, err = run("ranksvm train.svm --validate vali.svm --c-max 1 --report out.html --scores s.csv")
    assert (code, out, err) == (2, "", "ranking: out.html: No space left on device\n")
    assert (here / "out.html").read_text() == "old"
    assert not (here / "s.csv").exists()


class TestProgress:
    def test_it_is_shown_to_whoever_watches(self, capsys, monkeypatch):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        with progress_bar() as report:
            report("C = 1: 2 pieces")
        assert "C = 1: 2 pieces" in capsys.readouterr().err

    def test_it_is_not_written_into_files(self, capsys):
        with progress_bar() as report:
            assert report is None
        assert capsys.readouterr() == ("", "")


class TestProcess:
    def test_module_is_the_command_line(self):
        done = self.start("ranksvm", "none.svm")
        assert done.communicate()[1] == "ranking: TRAIN none.svm: No such file or directory\n"
        assert done.returncode == 2

    def test_reader_that_leaves_early_is_no_error(self):
        process = self.start("graph", "train.svm")
        process.stdout.close()
        assert process.stderr.read() == ""
        process.stderr.close()
        assert process.wait() == 141

    @staticmethod
    def start(*words):
        return subprocess.Popen(
            [sys.executable, "-m", "ranking", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
