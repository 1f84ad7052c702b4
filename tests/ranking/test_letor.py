"""letor: files of items, labels and queries, read with their line numbers and written without loss."""

import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_svmlight_file

from ranking import preference_pairs, read_letor, write_letor
from ranking.errors import DataError
from ranking.io.letor import LINE
from tests.data_folder import DATA, needs
from tests.refusals import refuses

TEXT = "# made for a test\n2 qid:10 1:0.5 3:1 # doc A\n\n0 qid:10 2:-0.25 #doc B\n1 qid:3 1:1e-3\n"
finite = st.floats(allow_nan=False, allow_infinity=False)
# The data README: rows, queries and preference pairs of each part.
MQ2008 = {"train": (9_630, 471, 52_325), "test": (2_874, 156, 14_361)}
LAMBDARANK = {"train": (3_005, 201, 13_543), "test": (768, 50, 3_599)}


def read_back(*arguments, **options):
    file = io.BytesIO()
    write_letor(file, *arguments, **options)
    file.seek(0)
    return read_letor(file)


class TestReading:
    def assert_as_written(self, data):
        assert data.X.tolist() == [[0.5, 0, 1], [0, -0.25, 0], [0.001, 0, 0]]
        assert data.y.tolist() == [2, 0, 1]
        assert data.qid.tolist() == [10, 10, 3]
        assert data.comments == ["doc A", "doc B", ""]

    @pytest.mark.parametrize("form", [str, Path])
    @pytest.mark.parametrize("name", ["plain.txt", "packed.txt.gz", "packed_without_suffix"])
    def test_files_by_name_plain_or_packed(self, tmp_path, form, name):
        content = TEXT.encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if "packed" in name else content)
        self.assert_as_written(read_letor(form(tmp_path / name)))

    @pytest.mark.parametrize(
        "file", [io.StringIO(TEXT), io.BytesIO(TEXT.encode()), io.BytesIO(gzip.compress(TEXT.encode()))]
    )
    def test_open_files(self, file):
        file.seek(0)
        self.assert_as_written(read_letor(file))

    def test_lines_may_end_as_on_windows(self):
        self.assert_as_written(read_letor(io.BytesIO(TEXT.replace("\n", "\r\n").encode())))

    def test_items_keep_the_order_of_the_file(self):
        data = read_letor(io.StringIO("0 qid:2 1:1\n0 qid:1 1:2\n0 qid:2 1:3\n"))
        assert data.qid.tolist() == [2, 1, 2]
        assert data.X.ravel().tolist() == [1, 2, 3]

    def test_missing_last_features_can_be_asked_for(self):
        assert read_letor(io.StringIO("0 qid:1 1:1\n"), n_features=3).X.tolist() == [[1, 0, 0]]

    def test_arrays_may_be_written_to(self):
        data = read_letor(io.StringIO(TEXT))
        for array in data[:3]:
            array[0] = 1

    @pytest.mark.parametrize(
        ("line", "wrong"),
        [
            ("0 1:1", {"argument": "the file, line 4", "found": "'0 1:1'"}),
            ("0", {"argument": "the file, line 4", "expected": "qid:number after the label"}),
            ("0 qid:x 1:1", {"argument": "the file, line 4", "expected": "qid:number after the label"}),
            ("0 1:1 qid:3", {"argument": "the file, line 4", "expected": "qid:number after the label"}),
            ("0 qidx:3 1:1", {"argument": "the file, line 4", "expected": "qid:number after the label"}),
            ("high qid:1 1:1", {"argument": "the file, line 4"}),
            ("0 qid:1 0:1", {"argument": "the file, line 4"}),
            ("0 qid:1 2:1 1:1", {"argument": "the file, line 4"}),
            ("0 qid:1 1:1 1:2", {"argument": "the file, line 4"}),
            ("0 qid:1 1:one", {"argument": "the file, line 4"}),
            ("0 qid:1 1", {"argument": "the file, line 4"}),
            ("0 qid:1 1:1 cost:2", {"argument": "the file, line 4"}),
            ("0 qid:1 99999999999:1", {"argument": "the file, line 4"}),
            ("0 qid:1 1:nan", {"argument": "the file", "found": 4}),
            ("inf qid:1 1:1", {"argument": "the file", "found": 4}),
        ],
    )
    def test_a_bad_line_is_named_by_its_number(self, line, wrong):
        text = f"# header\n0 qid:1 1:1\n\n{line}\n0 qid:1 1:2\n"
        with refuses(DataError, **wrong):
            read_letor(io.StringIO(text))

    def test_the_file_is_named(self, tmp_path):
        (tmp_path / "bad.txt").write_text("0 1:1\n", encoding="utf-8")
        with refuses(DataError, f"{tmp_path / 'bad.txt'}, line 1", row=1):
            read_letor(tmp_path / "bad.txt")

    def test_a_feature_beyond_those_asked_for_is_named(self):
        with refuses(DataError, "the file, line 2"):
            read_letor(io.StringIO("0 qid:1 2:1\n0 qid:1 3:1\n"), n_features=2)

    def test_a_comment_that_is_no_text_is_named(self):
        with refuses(DataError, "the file, line 1", expected="UTF-8"):
            read_letor(io.BytesIO(b"0 qid:1 1:1 # \xff\n"))

    @pytest.mark.parametrize("text", ["", "\n\n", "# nothing but a comment\n"])
    def test_a_file_without_items_is_refused(self, text):
        with refuses(DataError, "the file", expected=LINE):
            read_letor(io.StringIO(text))

    def test_a_broken_archive_is_refused(self):
        with refuses(DataError, "the file", expected="a complete gzip file"):
            read_letor(io.BytesIO(gzip.compress(TEXT.encode())[:-9]))

    def test_a_missing_file_is_reported_as_such(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            read_letor(tmp_path / "absent.txt")


class TestRoundTrip:
    @given(
        X=arrays(float, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=st.just(0.0) | finite),
        data=st.data(),
    )
    def test_what_is_written_comes_back_to_the_last_bit(self, X, data):
        n = len(X)
        y = data.draw(arrays(float, n, elements=finite))
        qid = data.draw(arrays(np.int64, n))
        text = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zs", "Zl", "Zp")))
        comments = data.draw(st.lists(text, min_size=n, max_size=n))
        back = read_back(X, y, qid, comments=comments)
        np.testing.assert_array_equal(back.X, X)
        np.testing.assert_array_equal(back.y, y)
        np.testing.assert_array_equal(back.qid, qid)
        assert back.comments == comments

    def test_digits_that_sixteen_places_would_lose_are_kept(self):
        value = 0.1 + 0.2
        assert float(f"{value:.16g}") != value
        assert read_back([[value]], [value], [1]).X.tolist() == [[value]]

    def test_columns_of_zeros_come_back(self):
        assert read_back([[1, 0, 0], [0, 0, 0]], [0, 1], [1, 1]).X.shape == (2, 3)

    def test_comments_keep_spaces_inside_and_hashes(self):
        assert read_back([[1]], [0], [1], comments=["a # b  c"]).comments == ["a # b  c"]

    @pytest.mark.parametrize("name", ["plain.txt", "packed.gz"])
    def test_files_by_name(self, tmp_path, name):
        for place in (tmp_path / name, str(tmp_path / name)):
            write_letor(place, [[0.5, 1]], [1], [4])
            assert read_letor(place).X.tolist() == [[0.5, 1]]
        is_packed = (tmp_path / name).read_bytes().startswith(b"\x1f\x8b")
        assert is_packed == name.endswith(".gz")

    def test_other_readers_agree(self):
        file = io.BytesIO()
        X = np.random.default_rng(0).normal(size=(6, 3)) * [1, 0, 1e-9]
        write_letor(file, X, np.arange(6), [3, 3, 1, 1, 2, 2])
        file.seek(0)
        features, y, qid = load_svmlight_file(file, query_id=True, zero_based=False)
        np.testing.assert_array_equal(features.toarray(), X)
        assert y.tolist() == [0, 1, 2, 3, 4, 5]
        assert qid.tolist() == [3, 3, 1, 1, 2, 2]


class TestBadArguments:
    @pytest.mark.parametrize(
        ("X", "y", "qid", "comments", "wrong"),
        [
            ([[1, np.inf]], [1], [1], None, {"argument": "X[0, 1]", "found": "inf"}),
            ([[1]], [np.nan], [1], None, {"argument": "y[0]", "found": "nan"}),
            ([1, 2], [1, 2], [1, 1], None, {"argument": "X", "found": "shape (2,)"}),
            (
                [[1], [2, 3]],
                [1, 2],
                [1, 1],
                None,
                {"argument": "X", "expected": "real numbers, in rows of equal length"},
            ),
            (
                np.ones((1, 1)) * 1j,
                [1],
                [1],
                None,
                {"argument": "X", "expected": "real numbers, in rows of equal length"},
            ),
            (
                np.ma.masked_array([[1.0]], [[True]]),
                [1],
                [1],
                None,
                {"argument": "X", "expected": "real numbers, in rows of equal length"},
            ),
            (np.empty((0, 2)), [], [], None, {"argument": "X", "found": "shape (0, 2)"}),
            (np.empty((2, 0)), [1, 2], [1, 1], None, {"argument": "X", "found": "shape (2, 0)"}),
            ([[1]], [1], ["a"], None, {"argument": "qid", "found": "dtype <U1"}),
            ([[1]], [1, 2], [1], None, {"argument": "y", "found": "(2,)"}),
            ([[1]], [1], [1, 2], None, {"argument": "qid", "found": "(2,)"}),
            ([[1]], [1], [1], ["a", "b"], {"argument": "comments", "found": "(2,)"}),
            ([[1]], [1], [1], ["a\nb"], {"argument": "comments[0]", "found": "'a\\nb'"}),
        ],
    )
    def test_they_are_named_before_anything_is_written(self, tmp_path, X, y, qid, comments, wrong):
        with refuses(DataError, **wrong):
            write_letor(tmp_path / "out.txt", X, y, qid, comments)
        assert not (tmp_path / "out.txt").exists()


@needs("mq2008_fold1")
@pytest.mark.parametrize("part", MQ2008)
def test_mq2008_has_the_sizes_its_readme_lists(part):
    rows, queries, pairs = MQ2008[part]
    data = read_letor(DATA / "mq2008_fold1" / f"{part}.svm.gz")
    assert data.X.shape == (rows, 46)
    assert len(set(data.qid.tolist())) == queries
    assert len(preference_pairs(data.y, data.qid)) == pairs
    assert data.X.min() == 0
    assert data.X.max() == 1


@needs("lambdarank_example")
@pytest.mark.parametrize("part", LAMBDARANK)
def test_the_lambdarank_example_has_the_sizes_its_readme_lists(part):
    rows, queries, pairs = LAMBDARANK[part]
    data = read_letor(DATA / "lambdarank_example" / f"{part}.svm.gz", n_features=300)
    assert data.X.shape == (rows, 300)
    assert len(set(data.qid.tolist())) == queries
    assert len(preference_pairs(data.y, data.qid)) == pairs


@needs("mq2008_fold1")
def test_mq2008_comes_back_from_a_file_of_ours(tmp_path):
    data = read_letor(DATA / "mq2008_fold1" / "test.svm.gz")
    write_letor(tmp_path / "test.svm.gz", data.X, data.y, data.qid, data.comments)
    back = read_letor(tmp_path / "test.svm.gz")
    for found, wanted in zip(back[:3], data[:3], strict=True):
        np.testing.assert_array_equal(found, wanted)
