"""ranking ordinal: levels learnt at the shell; what is wrong is one line on stderr and an exit code."""

import re
import signal
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ranking import OrdinalSVMPath, write_letor
from ranking.cli import app as cli
from ranking.ordinal.students import students

PARTS = {"train": students(24), "vali": students(24, 1), "test": students(40, 2)}
EXAMS, GRADES = ["midterm", "final"], list("DCBA")
COMMAND = "ordinal train.csv --target grade --levels D,C,B,A"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Every test works in a folder of its own that holds the same students."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    for name, part in PARTS.items():
        part.to_csv(f"{name}.csv", index=False)
        part[EXAMS].assign(y=part["grade"].cat.codes).to_csv(f"{name}-numbers.csv", index=False)
    return tmp_path


@pytest.fixture(scope="module")
def model():
    fitted = OrdinalSVMPath(C_max=20).fit(PARTS["train"][EXAMS], PARTS["train"]["grade"])
    fitted.select(PARTS["vali"][EXAMS], PARTS["vali"]["grade"])
    return fitted


def lines(out):
    """The printed lines by their first words."""
    found = [re.split(r"\s{2,}|: ", line, maxsplit=1) for line in out.splitlines()]
    return {line[0]: line[1] for line in found if len(line) == 2}


class TestOrdinal:
    def test_path_choice_metrics_and_confusion_are_printed(self, run, model):
        code, out, err = run(f"{COMMAND} --validate vali.csv --test test.csv --c-max 20")
        assert (code, err) == (0, "")
        found, test = lines(out), PARTS["test"]
        assert found["levels"] == "D < C < B < A"
        assert found["path"].startswith(f"{len(model.path_.segments)} pieces for C from 0 to 20")
        assert found["chosen"] == f"C = {model.C_:.6g}, lambda = {1 / model.C_:.6g} (best)"
        predicted = pd.Categorical(model.predict(test[EXAMS]), GRADES, ordered=True)
        distance = np.abs(predicted.codes.astype(int) - test["grade"].cat.codes)
        assert found["test metric"] == f"mean_absolute_error {distance.mean():.6g}"
        met = pd.crosstab(test["grade"], predicted, dropna=False)
        assert re.search(r"\nA\s+" + r"\s+".join(map(str, met.loc["A", GRADES])) + r"\n", out)

    def test_report_and_predictions_are_written(self, run, here, model):
        files = "--report out.html --predictions levels.csv"
        code, out, _ = run(f"{COMMAND} --validate vali.csv --test test.csv --c-max 20 {files}")
        assert code == 0
        assert out.endswith("Written: out.html\nWritten: levels.csv\n")
        text = (here / "out.html").read_text()
        assert "<h2>Thresholds</h2>" in text
        assert "<h2>Levels in the plane</h2>" in text
        written = pd.read_csv("levels.csv")
        assert written["predicted"].tolist() == model.predict(PARTS["test"][EXAMS]).tolist()

    def test_numbers_need_no_order_and_give_the_same_model(self, run):
        words = lines(run(f"{COMMAND} --folds 3 --c-max 1")[1])
        numbers = lines(run("ordinal train-numbers.csv --folds 3 --c-max 1")[1])
        assert words["chosen"] == numbers["chosen"]
        assert numbers["levels"] == "0 < 1 < 2 < 3"

    def test_numbers_may_be_given_another_order(self, run):
        reverse = "ordinal train-numbers.csv --levels 3,2,1,0 --folds 3 --c-max 1 --predictions p.csv"
        code, out, _ = run(reverse)
        assert (code, lines(out)["levels"]) == (0, "3 < 2 < 1 < 0")
        written = pd.read_csv("p.csv")
        assert written["score"].corr(written["y"]) < 0

    def test_true_and_false_are_words(self, run):
        table = PARTS["train"].assign(passed=PARTS["train"]["grade"] > "D").drop(columns="grade")
        table.to_csv("passed.csv", index=False)
        code, out, _ = run("ordinal passed.csv --target passed --levels False,True --folds 3 --c-max 1")
        assert (code, lines(out)["levels"]) == (0, "False < True")

    def test_LETOR_files_are_read_without_their_queries(self, run):
        part = PARTS["train"]
        write_letor("train.svm", part[EXAMS], part["grade"].cat.codes, np.arange(24))
        same = lines(run("ordinal train.svm --folds 3 --c-max 1")[1])
        assert same["chosen"] == lines(run("ordinal train-numbers.csv --folds 3 --c-max 1")[1])["chosen"]

    def test_options_reach_the_model(self, run):
        chosen = "--kernel rbf --gamma 0.01 --scope all --no-ordered --metric accuracy --c-max 5"
        code, out, _ = run(f"{COMMAND} --validate vali.csv {chosen}")
        fitted = OrdinalSVMPath(C_max=5, kernel="rbf", gamma=0.01, scope="all", ordered=False)
        fitted.fit(PARTS["train"][EXAMS], PARTS["train"]["grade"])
        curve = fitted.select(PARTS["vali"][EXAMS], PARTS["vali"]["grade"], "accuracy")
        assert code == 0
        assert lines(out)["validation metric"] == f"accuracy {curve.best:.6g}"
        assert lines(out)["path"].startswith(f"{len(fitted.path_.segments)} pieces")

    def test_folds_and_seed_choose(self, run):
        code, out, _ = run(f"{COMMAND} --folds 3 --seed 1 --c-max 1 --choice one-standard-error")
        assert code == 0
        assert "on 3 folds of the training items" in lines(out)["best"]
        assert "(one-standard-error)" in lines(out)["chosen"]

    def test_whole_path_says_whether_levels_can_be_separated(self, run):
        _, out, _ = run(f"{COMMAND} --validate vali.csv --c-max inf")
        assert lines(out)["separable"].startswith("no")

    def test_columns_can_be_left_out(self, run):
        code, out, _ = run(f"{COMMAND} --ignore midterm --folds 3 --c-max 1")
        assert (code, lines(out)["training"]) == (0, "24 rows, 1 feature, from train.csv")

    def test_same_words_give_the_same_files(self, run, here):
        for name in ("one.csv", "two.csv"):
            run(f"{COMMAND} --folds 3 --c-max 1 --scores {name}")
        assert (here / "one.csv").read_bytes() == (here / "two.csv").read_bytes()

    def test_limit_gives_what_follows_from_the_finished_part_and_code_3(self, run, here):
        code, out, err = run(f"{COMMAND} --validate vali.csv --max-pieces 3 --report out.html")
        assert code == 3
        assert err.startswith("ranking: max_pieces = 3")
        assert err.count("\n") == 1
        assert "3 pieces" in out
        assert "no: max_pieces = 3" in (here / "out.html").read_text()

    def test_interrupted_path_gives_its_finished_part_and_code_130(self, run, monkeypatch):
        @contextmanager
        def press_at_once():
            yield lambda text: signal.raise_signal(signal.SIGINT) if text.endswith(": 2 pieces") else None

        monkeypatch.setattr(cli, "progress_bar", press_at_once)
        code, out, err = run(f"{COMMAND} --validate vali.csv")
        assert code == 130
        assert err.startswith("ranking: interrupted at")
        assert "chosen" in out


WRONG = {
    "no file": ("ordinal", "Missing argument 'DATA'"),
    "file missing": ("ordinal none.csv", "DATA none.csv: No such file"),
    "test file missing": (f"{COMMAND} --test none.csv", "--test none.csv: No such file"),
    "unknown kind of file": ("ordinal train.pdf", r"DATA train.pdf: its name must end in \.csv"),
    "no target column": (
        "ordinal train.csv",
        "DATA train.csv: there is no column 'y' .--target.; the columns are",
    ),
    "no column to ignore": (f"{COMMAND} --ignore age", "no column 'age' .--ignore."),
    "text without order": (
        "ordinal train.csv --target grade",
        "train.csv: column 'grade' holds labels without an order of their own, .*'D'; .*--levels",
    ),
    "level missing in the order": (
        "ordinal train.csv --target grade --levels C,B,A",
        r"train.csv: label\[\d+\] is 'D', which is none of the levels 'C', 'B', 'A'",
    ),
    "level twice": (
        "ordinal train.csv --target grade --levels D,C,B,A,A",
        "levels.4. occurs twice: 'A'",
    ),
    "new level in a test file": (
        f"{COMMAND} --test other.csv",
        r"other.csv: label\[1\] is 'E', which is none of the levels",
    ),
    "words as the order of numbers": (
        "ordinal one.csv --levels a,b",
        "--levels must be numbers, as the labels",
    ),
    "one level only": ("ordinal one.csv", "one.csv must have labels of at least two levels, got 1"),
    "numbers that go on and on": (
        "ordinal train.csv --target final --ignore grade --levels 1",
        "none of the",
    ),
    "gap in features": ("ordinal gap.csv", "DATA gap.csv: column 'a', row 2 is empty"),
    "word in features": ("ordinal word.csv", "column 'a', row 2 is 'big', not a finite number"),
    "gap in labels": ("ordinal label.csv", "DATA label.csv: column 'y', row 2 is empty; give a label"),
    "infinite label": ("ordinal inf.csv", "DATA inf.csv: column 'y', row 2 is inf"),
    "no feature": ("ordinal bare.csv", "DATA bare.csv: there is no feature"),
    "features differ": (
        f"{COMMAND} --test wide.csv",
        "--test wide.csv has features that train.csv lacks: 'age'",
    ),
    "kernel unknown": (f"{COMMAND} --kernel rfb", "--kernel must be .*'rfb'; did you mean 'rbf'"),
    "gamma is a word": (f"{COMMAND} --gamma big", "--gamma must be a number, scale or auto, got 'big'"),
    "scope unknown": (f"{COMMAND} --scope none", "--scope must be one of .*, got '"),
    "metric unknown": (f"{COMMAND} --metric ndcg", "--metric must be one of .*, got 'ndcg'"),
    "choice unknown": (f"{COMMAND} --choice worst", "--choice must be one of .*, got '"),
    "C_max negative": (f"{COMMAND} --c-max -1", "--c-max must be a positive number"),
    "one fold": (f"{COMMAND} --folds 1", "--folds must be a whole number of at least 2, got '1'"),
    "too many folds": (f"{COMMAND} --folds 25", "--folds must be at most 24, the number of rows, got 25"),
    "limit without validation": (f"{COMMAND} --time-limit 5", "need --validate"),
    "report as text": (f"{COMMAND} --report out.txt", r"--report must end in \.html"),
    "report into no folder": (f"{COMMAND} --report none/out.html", "--report .*no folder 'none'"),
    "predictions over the data": (f"{COMMAND} --predictions train.csv", "train.csv would overwrite"),
    "predictions as text": (f"{COMMAND} --predictions p.txt", r"--predictions must end in \.csv"),
}
CONTENTS = {
    "train.pdf": "",
    "other.csv": "midterm,final,grade\n50,60,A\n60,70,E\n",
    "wide.csv": "midterm,final,age,grade\n50,60,20,A\n",
    "one.csv": "y,a\n1,2\n1,3\n",
    "gap.csv": "y,a,b\n1,2,0\n0,,0\n",
    "word.csv": "y,a\n1,2\n0,big\n",
    "label.csv": "y,a\n1,2\n,3\n",
    "inf.csv": "y,a\n1,2\ninf,3\n",
    "bare.csv": "y\n1\n2\n",
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_is_code_2_and_one_line_that_says_why(case, run, here):
    words, reason = WRONG[case]
    for name, text in CONTENTS.items():
        (here / name).write_text(text)
    before = {file.name: file.read_bytes() for file in here.iterdir()}
    code, out, err = run(words)
    assert (code, out) == (2, ""), err
    assert err.startswith("ranking: ")
    assert err.count("\n") == 1
    assert re.search(reason, err), err
    assert {file.name: file.read_bytes() for file in here.iterdir()} == before


def test_nothing_is_written_if_one_of_two_files_cannot_be_made(run, here, monkeypatch):
    Path("out.html").write_text("old")

    def fail(study):
        raise OSError(28, "No space left on device", "levels.csv")

    monkeypatch.setattr(cli, "predictions_csv", fail)
    code, out, err = run(f"{COMMAND} --folds 3 --c-max 1 --report out.html --predictions levels.csv")
    assert (code, out, err) == (2, "", "ranking: levels.csv: No space left on device\n")
    assert (here / "out.html").read_text() == "old"
    assert not (here / "levels.csv").exists()


def test_help_teaches_by_example(run):
    code, out, _ = run("ordinal --help")
    assert code == 0
    assert "ranking ordinal students.csv --target grade --levels D,C,B,A" in out


def test_command_is_part_of_the_typer_application():
    result = CliRunner().invoke(cli.app, [*COMMAND.split(), "--folds", "3", "--c-max", "1"])
    assert result.exit_code == 0
    assert "D < C < B < A" in result.output
