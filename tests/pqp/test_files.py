"""files: what is written is read back exactly, and anything else is refused in one sentence."""

import contextlib
import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pqp
from pqp import load_path, load_problem, mu, save_problem
from pqp.certificate import check
from pqp.errors import FileFormatError, ProblemError
from pqp.files import load_document
from pqp.io.writing import path_document, problem_document
from pqp.linalg.field import RATIONAL
from tests.engines import EVERY_ENGINE, EXACT, REVISED, TABLEAU
from tests.pqp.documents import EXAMPLES, HAND_WRITTEN, as_float, budget
from tests.refusals import refuses

PROBLEMS = {
    "integers": lambda: pqp.ParametricQP([[2, 0], [0, 2]], [-4, -6], [[1, 1]], row_upper=mu, lower=0),
    "rationals": lambda: pqp.ParametricQP(
        [[Fraction(1, 3)]], [Fraction(2, 7) - mu / 9], lower=Fraction(-1, 10**30)
    ),
    "floats": lambda: pqp.ParametricQP(
        [[0.1]], 0.7 + mu * 1e-300, upper=[-0.0], constant=[0.1, Fraction(1, 3), 2]
    ),
    "large integers": lambda: pqp.ParametricQP([[10**40]], [2**53 + 1 + mu * 3**50], lower=-(2**62)),
    "integers next to infinity": lambda: pqp.ParametricQP(
        np.zeros((2, 2)), 0, lower=[Fraction(2**60 + 1), -math.inf], upper=[math.inf, 3 - mu]
    ),
    "Gram": lambda: pqp.ParametricQP(pqp.Gram([[0.1], [0.2], [0.3]]), mu * [1, 2, 3]),
    "weighted Gram": lambda: pqp.ParametricQP(
        pqp.Gram([[1, 2], [0, 1]], diagonal=[0, 1], weights=[Fraction(1, 3), 2]), mu * [1, 2]
    ),
    "Gram of rank 0": lambda: pqp.ParametricQP(pqp.Gram(np.zeros((2, 0))), 1, lower=0),
    "PairGram": lambda: pqp.ParametricQP(
        pqp.PairGram([[2, 1], [1, 2]], [(0, 1), (1, 0)]), -1, lower=0, upper=mu
    ),
    "soft rows": lambda: pqp.ParametricQP([[1]], 0, [[1], [2]], row_lower=[1, 2], penalty=[mu, math.inf]),
    "no rows": lambda: pqp.ParametricQP([[1]], [mu]),
    "no variables": lambda: pqp.ParametricQP(np.zeros((0, 0)), [], np.zeros((1, 0)), row_lower=-1),
    "no pairs": lambda: pqp.ParametricQP(pqp.PairGram([[1]], np.zeros((0, 2), dtype=int)), []),
    "odd names": lambda: pqp.ParametricQP([[1]], 0, [[1]], names=['"µ" \n'], row_names=["naïve"]),
}


def written(document, tmp_path, name="file.json"):
    file = tmp_path / name
    file.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return file


def same_problem(left, right):
    assert type(left.P) is type(right.P)
    assert problem_document(left) == problem_document(right)
    for name in ("P", "A"):
        a, b = (getattr(problem.data(RATIONAL), name) for problem in (left, right))
        assert a.shape == b.shape
        assert (a == b).all()


@pytest.mark.parametrize("name", PROBLEMS)
def test_problem_is_read_back_exactly(name, tmp_path):
    problem = PROBLEMS[name]()
    save_problem(problem, tmp_path / "problem.json")
    same_problem(load_problem(tmp_path / "problem.json"), problem)


@given(
    numbers=st.lists(
        st.one_of(st.integers(), st.fractions(), st.floats(allow_nan=False, allow_infinity=False)), min_size=1
    )
)
def test_any_numbers_are_read_back_exactly(numbers, tmp_path_factory):
    exact = [Fraction(number) for number in numbers]
    file = tmp_path_factory.getbasetemp() / "numbers.json"
    n = len(numbers)
    save_problem(pqp.ParametricQP(np.zeros((n, n)), numbers, lower=exact), file)
    found = load_problem(file)
    assert [Fraction(value) for value in found.lower.constant] == exact
    if not any(isinstance(number, float) for number in numbers):
        assert [Fraction(value) for value in found.c.constant.tolist()] == exact


class TestHandWritten:
    def test_example_of_the_documentation_is_the_budget_problem(self, tmp_path):
        problem = load_problem(written(HAND_WRITTEN, tmp_path))
        same_problem(
            problem, pqp.ParametricQP([[2, 0], [0, 2]], [-4, -6], [[1, 1]], None, mu, 0, names=["x", "y"])
        )

    @pytest.mark.parametrize("value", ["3 - 2*mu", ["3 - 2*mu"], {"constant": [3], "slope": [-2]}])
    def test_affine_data_may_be_one_entry_a_list_or_two_lists(self, value, tmp_path):
        problem = load_problem(written(HAND_WRITTEN | {"row_upper": value}, tmp_path))
        assert (problem.row_upper.constant[0], problem.row_upper.slope[0]) == (3, -2)

    def test_rationals_are_exact_and_decimals_are_floats(self, tmp_path):
        problem = load_problem(
            written(HAND_WRITTEN | {"c": ["1/3", "0.1*mu"], "lower": [0.1, "-inf"]}, tmp_path)
        )
        assert problem.c.constant.tolist() == [Fraction(1, 3), 0]
        assert problem.c.slope.tolist() == [0, 0.1]
        assert problem.lower.constant.tolist() == [0.1, -math.inf]

    def test_byte_order_mark_of_some_editors_is_no_obstacle(self, tmp_path):
        load_problem(written("\ufeff" + json.dumps(HAND_WRITTEN), tmp_path))


MALFORMED = {
    "not JSON": ("{format: 1}", "is not JSON: .* line 1"),
    "empty": ("", "is not JSON"),
    "a list": ([1], "must be one JSON object .* got a list"),
    "no format": ({"version": 1}, 'format must be "pqp-problem", got nothing'),
    "a path": (budget(), 'format .* got "pqp-path".*load_path'),
    "another format": (HAND_WRITTEN | {"format": "lp"}, 'format .* got "lp"'),
    "another version": (HAND_WRITTEN | {"version": 2}, "version must be 1 .* got 2"),
    "true for a version": (HAND_WRITTEN | {"version": True}, "version must be 1 .* got true"),
    "P missing": ({k: v for k, v in HAND_WRITTEN.items() if k != "P"}, 'key "P" is missing'),
    "key misspelt": (HAND_WRITTEN | {"row_uper": 1}, '"row_uper" is not known; did you mean "row_upper"'),
    "key unknown": (HAND_WRITTEN | {"zzz": 1}, '"zzz" is not known; known keys are P, c'),
    "key twice": ('{"format": "pqp-problem", "P": 1, "P": 2}', '"P" appears twice'),
    "NaN": ('{"c": NaN}', 'NaN is not JSON; .* "inf"'),
    "too large for a float": (
        '{"format": "pqp-problem", "version": 1, "P": [[1e999]], "c": 0}',
        r"P\[0\]\[0\] must be a finite float64 number, got inf",
    ),
    "integer too long": (json.dumps(HAND_WRITTEN).replace("-4", "9" * 5000), "write it as a string"),
    "too deep": ("[" * 100000, "nested too deeply"),
    "wrong formula": (
        HAND_WRITTEN | {"row_upper": ["2*m"]},
        r"row_upper\[0\]: '2\*m' is not an affine .*'m'",
    ),
    "mu in P": (HAND_WRITTEN | {"P": [["mu", 0], [0, 2]]}, r"P\[0\]\[0\]: 'mu' depends on mu"),
    "null": (HAND_WRITTEN | {"lower": None}, "lower must be a finite float64 number, got null"),
    "true for a number": (HAND_WRITTEN | {"c": [True, 0]}, r"c\[0\] must be a .* number, got true"),
    "nested list": (HAND_WRITTEN | {"c": [[1], 0]}, r"c\[0\] must be a .* number, got a list"),
    "ragged": (HAND_WRITTEN | {"A": [[1, 1], [1]]}, "A is ragged: row 0 has 2 entries, row 1 has 1"),
    "A is not a matrix": (HAND_WRITTEN | {"A": [1, 1]}, r"A\[0\] must be a list .* got 1"),
    "wrong shape": (HAND_WRITTEN | {"c": [1, 2, 3]}, "c must be of length 2"),
    "not convex": (HAND_WRITTEN | {"P": [[-1, 0], [0, 1]]}, "P must be positive semidefinite"),
    "slope without constant": (HAND_WRITTEN | {"c": {"slope": [1, 2]}}, 'c: the key "constant" is missing'),
    "slope too short": (
        HAND_WRITTEN | {"c": {"constant": [1, 2], "slope": [1]}},
        r"c\.slope must have 2 entries, got 1",
    ),
    "names not strings": (HAND_WRITTEN | {"names": ["x", 1]}, r"names\[1\] must be a string, got 1"),
    "names are one string": (HAND_WRITTEN | {"names": "xy"}, 'names must be a list .* got "xy"'),
    "two constants": (HAND_WRITTEN | {"constant": [1, 2]}, "constant must have 3 entries, got 2"),
    "Gram and PairGram": (HAND_WRITTEN | {"P": {"gram": [], "pair_gram": {}}}, "P must have one of the keys"),
    "pairs outside": (
        HAND_WRITTEN | {"P": {"pair_gram": {"K": [[1]], "pairs": [[0, 1]]}}},
        r"pairs\[0, 1\] must be an index from 0 to 0",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_problem_is_refused_with_its_name_and_the_reason(case, tmp_path):
    content, reason = MALFORMED[case]
    file = written(content, tmp_path, "wrong.json")
    with pytest.raises(FileFormatError, match=rf"(?s)wrong\.json.*{reason}") as caught:
        load_problem(file)
    assert caught.value.file == str(file)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "image.json").write_bytes(b"\xff\xd8\xff")
    with pytest.raises(FileFormatError, match=r"image\.json: the content is not text in UTF-8"):
        load_problem(tmp_path / "image.json")


def test_missing_file_is_pythons_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_problem(tmp_path / "nothing.json")


def test_problem_is_saved_as_json_only(tmp_path):
    with refuses(ProblemError, "file", found="'p.npz'"):
        save_problem(PROBLEMS["integers"](), tmp_path / "p.npz")


class TestPath:
    @pytest.mark.parametrize("form", [lambda document: document, as_float], ids=["exact", "float"])
    @pytest.mark.parametrize("example", EXAMPLES)
    def test_document_made_by_hand_is_read_and_proves_the_same(self, example, form, tmp_path):
        document = form(EXAMPLES[example]())
        path = load_path(written(document, tmp_path))
        ours, theirs = path.certify(), check(document)
        assert (ours.statuses, ours.breakpoints) == (theirs.statuses, theirs.breakpoints)

    @pytest.mark.parametrize("interval", [(-2, 8), (-math.inf, math.inf), (3, 3), (-3, -1)], ids=str)
    @pytest.mark.parametrize(
        ("engine", "suffix"),
        [(EXACT, ".json"), (REVISED, ".json"), (REVISED, ".npz"), (TABLEAU, ".json"), (TABLEAU, ".npz")],
        ids=["exact-json", "revised-json", "revised-npz", "tableau-json", "tableau-npz"],
    )
    def test_path_is_read_back_exactly(self, interval, engine, suffix, tmp_path):
        path = engine.trace(PROBLEMS["integers"](), interval)
        path.save(tmp_path / f"path{suffix}")
        found = load_path(tmp_path / f"path{suffix}")
        assert path_document(found) == path_document(path)
        assert [type(end) for end in found.asked] == [type(end) for end in path.asked]
        assert check(load_document(tmp_path / f"path{suffix}")).pieces == len(path.segments)

    @EVERY_ENGINE
    def test_unbounded_piece_keeps_its_proof(self, engine, tmp_path):
        problem = pqp.ParametricQP([[0]], [mu], [[1]], row_lower=[1], lower=0, penalty=[2])
        path = engine.trace(problem, (-5, 5))
        path.save(tmp_path / "path.json")
        assert {segment.status for segment in path.segments} == {"unbounded", "optimal"}
        assert path_document(load_path(tmp_path / "path.json")) == path_document(path)

    @EVERY_ENGINE
    def test_loaded_path_goes_on_like_the_one_saved(self, engine, tmp_path):
        path = engine.trace(PROBLEMS["integers"](), (-2, 8), max_pieces=2)
        path.save(tmp_path / "part.json")
        found = load_path(tmp_path / "part.json")
        assert found.stopped == path.stopped
        assert path_document(found.extend(8)) == path_document(path.extend(8))

    def test_path_of_unknown_origin_can_be_read_but_not_extended(self, tmp_path):
        path = load_path(written(budget(), tmp_path))
        assert path(3).x.tolist() == [1, 2]
        with pytest.raises(ProblemError, match="does not know how it was traced"):
            path.extend(9)

    def test_path_with_its_certificate_is_still_a_path(self, tmp_path):
        path = pqp.solve_path(PROBLEMS["integers"](), (-2, 8), arithmetic="exact")
        path.certify().save(tmp_path / "proved.json")
        assert path_document(load_path(tmp_path / "proved.json")) == path_document(path)

    def test_rationals_of_thousands_of_digits_survive(self, tmp_path):
        long = Fraction(3**12000, 2**19000 + 1)
        path = pqp.solve_path(pqp.ParametricQP([[1]], [-long + mu]), (0, 1), arithmetic="exact")
        path.save(tmp_path / "long.json")
        assert load_path(tmp_path / "long.json")(0).x[0] == long


# Key -> a wrong value, and what is said about that key.
WRONG_PATHS = {
    "segments": (5, "must be a list .* got 5"),
    "arithmetic": ("double", 'must be "float" or "exact", got "double"'),
    "interval": ([0, 8], r"interval is \[0, 8\] but the segments cover \[-2, 8\]"),
    "asked": ([8, 0], "must have lo ≤ hi"),
    "stopped": (3, "must be a string, got 3"),
    "method": (None, "must be a string, got null"),
    "segments.0.status": ("good", 'must be "optimal" or .* got "good"'),
    "segments.0.farkas.lower": ([1], "must have 2 entries, got 1"),
    "segments.0.x0": ([0, 0], 'the key "x0" is not known'),
    "segments.1.lo": (1, "must begin where the segment before ends, at 0, not at 1"),
    "segments.1.hi": (-1, "must have lo ≤ hi, got 0 and -1"),
    "segments.1.variables": (["lower"], "must have 2 entries, got 1"),
    "segments.1.variables.0": ("low", 'must be "between" or .* got "low"'),
    "segments.1.rows.0": (0, 'must be "off" or .* got 0'),
    "segments.1.x0.1": ("a", "'a' is not an affine expression"),
    "segments.1.y0": ([], "must have 1 entries, got 0"),
    "segments.1": ([], "must be an object .* got a list"),
    "problem.P": ([[1]], "A must be a matrix of 1 column to match P"),
    "problem": (1, "must be an object"),
}
# Where a whole object is at fault, not the key that was changed.
AT_FAULT = {
    "segments.0.x0": "segments[0]",
    "segments.1.lo": "segments[1]",
    "segments.1.hi": "segments[1]",
    "problem.P": "problem",
}


def changed(document, place, value):
    *keys, last = [int(key) if key.isdigit() else key for key in place.split(".")]
    target = document
    for key in keys:
        target = target[key]
    target[last] = value
    return document


@pytest.mark.parametrize("place", WRONG_PATHS)
def test_malformed_path_is_refused_with_the_place_and_the_reason(place, tmp_path):
    value, reason = WRONG_PATHS[place]
    file = written(changed(budget(), place, value), tmp_path, "wrong.json")
    with pytest.raises(FileFormatError, match=rf"wrong\.json.*{reason}") as caught:
        load_path(file)
    assert caught.value.file == str(file)
    assert caught.value.argument == AT_FAULT.get(place, re.sub(r"\.(\d+)", r"[\1]", place))


def test_path_with_a_key_missing_is_refused(tmp_path):
    document = budget()
    del document["rule"]
    with pytest.raises(FileFormatError, match='the key "rule" is missing'):
        load_path(written(document, tmp_path))


class TestPacked:
    @pytest.fixture
    def blocks(self, tmp_path):
        pqp.solve_path(PROBLEMS["integers"](), (-2, 8), method="tableau").save(tmp_path / "path.npz")
        with np.load(tmp_path / "path.npz") as archive:
            return {name: archive[name] for name in archive.files}

    def refused(self, file, reason):
        with pytest.raises(FileFormatError, match=rf"path\.npz.*{reason}"):
            load_path(file)

    def test_missing_block_is_named(self, blocks, tmp_path):
        np.savez(tmp_path / "path.npz", **{name: block for name, block in blocks.items() if name != "z1"})
        self.refused(tmp_path / "path.npz", "not an npz file written by path.save.*z1")

    def test_block_of_another_length_is_refused(self, blocks, tmp_path):
        np.savez(tmp_path / "path.npz", **blocks | {"x0": blocks["x0"][:1]})
        self.refused(tmp_path / "path.npz", "the block x0 has 1 rows for 3 optimal segments")

    @pytest.mark.parametrize("value", [math.nan, math.inf])
    def test_number_that_is_none_is_refused(self, blocks, value, tmp_path):
        np.savez(tmp_path / "path.npz", **blocks | {"x0": np.full_like(blocks["x0"], value)})
        self.refused(tmp_path / "path.npz", r"segments\[1\]\.x0 must hold 2 finite float64 numbers")

    def test_truncated_file_is_refused(self, blocks, tmp_path):
        content = (tmp_path / "path.npz").read_bytes()
        (tmp_path / "path.npz").write_bytes(content[: len(content) // 2])
        self.refused(tmp_path / "path.npz", "not an npz file")


@pytest.mark.parametrize("example", ["budget", "pair_budget", "falling"])
@given(data=st.data(), garbage=st.sampled_from([None, "x", "", [], {}, [[]], True, -1, 10**30, "1/0"]))
def test_garbage_anywhere_raises_nothing_but_a_file_format_error(example, garbage, data, tmp_path_factory):
    document = EXAMPLES[example]()
    place = data.draw(st.sampled_from(list(places(document))))
    file = written(changed(document, place, garbage), tmp_path_factory.getbasetemp())
    with contextlib.suppress(FileFormatError):
        load_path(file)


def places(value, prefix=""):
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, entry in entries:
        yield f"{prefix}{key}"
        yield from places(entry, f"{prefix}{key}.")
