"""What the command line opens: items and preferences in files, and places where results may go.

Words of options: lists with commas, settings like price=falls, numbers, and names that must be known.

What the conjoint commands open: a study in a CSV file, products, and part-worths written before.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Protocol, get_args

import networkx as nx
import pandas as pd

import pqp
from pqp.cli import kit
from ranking.cli.conjoint_options import Fitting, Reading
from ranking.conjoint import Attribute, ConjointStudy, Scenario, read_scenario
from ranking.conjoint.data.reading import read_table as read_choice_table
from ranking.conjoint.data.wide import PATTERN
from ranking.conjoint.results.orders import FALLS, RISES, order_rows
from ranking.core.graph import Reduction, essential_pairs, find_cycle, preference_graph, preference_pairs
from ranking.core.validation import Array, Integers, values_shown
from ranking.errors import ConvergenceError, DataError, StudyError
from ranking.io.tables import (
    PAIR,
    Items,
    is_table,
    read_items,
    read_objects,
    read_pairs,
    read_scores,
    read_table,
    same_features,
)
from ranking.studies.conjoint import Parts, SurveyPlan
from ranking.studies.conjoint_tables import RESPONDENT, WEIGHT, flat_names

PAGES = (".html", ".htm")


class Command(kit.Command):
    """A command of `ranking`, which also prints every problem of a study."""

    failures = (*kit.Command.failures, ConvergenceError)

    def explained(self, error: pqp.errors.ExplainedError, words: kit.Words) -> kit.CommandError:
        """Return an error of the library in the words of this command."""
        if isinstance(error, StudyError):
            heading, *problems = at_the_shell(error.render()).splitlines()
            return kit.CommandError(heading, details=[line.removeprefix("- ") for line in problems])
        found = super().explained(error, words)
        return kit.CommandError(at_the_shell(found.message), found.code)


@dataclass(frozen=True)
class Columns:
    """Which columns of a CSV file are what, and how many features a LETOR file has, None if it says so."""

    label: str
    query: str
    ignore: tuple[str, ...]
    features: int | None


class Preferences(Protocol):
    """Preferences of a file, to be counted and drawn."""

    def counts(self) -> dict[str, str]:
        """Return how many pairs each reduction leaves."""

    def cycle(self) -> str | None:
        """Return items that contradict one another."""

    def graph(self, reduction: Reduction) -> Any:
        """Return the graph of a reduction."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """Preferences that labels imply; they never contradict one another."""

    items: Items

    def counts(self) -> dict[str, str]:
        """Return how many pairs each reduction leaves."""
        kinds: tuple[Reduction, ...] = get_args(Reduction)
        return {kind: str(len(preference_pairs(self.items.y, self.items.qid, kind))) for kind in kinds}

    def cycle(self) -> str | None:
        """Return None: labels are numbers, which have an order."""
        return None

    def graph(self, reduction: Reduction) -> Any:
        """Return the graph of a reduction."""
        return preference_graph(self.items.y, self.items.qid, reduction)


@dataclass(frozen=True, eq=False)
class Listed:
    """Preferences given pair by pair, between items with names."""

    pairs: Integers
    names: list[Any]

    def counts(self) -> dict[str, str]:
        """Return how many pairs there are, and how many do not follow from others."""
        reduced = "not defined, there is a cycle"
        if self.cycle() is None:
            reduced = str(int(essential_pairs(self.pairs, len(self.names)).sum()))
        return {"full": str(len(self.pairs)), "transitive": reduced}

    def cycle(self) -> str | None:
        """Return items that contradict one another, by name."""
        found = find_cycle(self.pairs, len(self.names))
        return None if found is None else " > ".join(str(self.names[i]) for i in [*found, found[0]])

    def graph(self, reduction: Reduction) -> Any:
        """Return the graph of all pairs, or of those that do not follow from others."""
        if reduction not in ("full", "transitive"):
            raise DataError(f"--reduction {reduction} needs labels; pairs take full or transitive")
        keep = slice(None) if reduction == "full" else essential_pairs(self.pairs, len(self.names))
        return nx.DiGraph([(self.names[i], self.names[j]) for i, j in self.pairs[keep]])


def open_items(file: Path, argument: str, columns: Columns, like: Items | None = None) -> Items:
    """Return the items of a file, with the features of others if there are any."""
    count = columns.features if like is None else like.X.shape[1]
    with _named(argument, file):
        items = read_items(file, columns.label, columns.query, columns.ignore, count)
        return items if like is None else same_features(items, like)


def open_objects(file: Path, argument: str, columns: Columns, like: Items | None = None) -> Items:
    """Return the rows of a file with labels of any kind, with the features of others if there are any."""
    count = columns.features if like is None else like.X.shape[1]
    with _named(argument, file):
        items = read_objects(file, columns.label, columns.ignore, count)
        return items if like is None else same_features(items, like)


def level_order(text: str | None, items: Items, target: str) -> list[Any] | None:
    """Return the levels named in an option, lowest first, as words or numbers like the labels of items.

    None if none are named: numbers have an order of their own, words do not.
    """
    is_number = items.y.dtype.kind in "iuf"
    if text is None:
        if not is_number:
            found = values_shown(sorted(set(items.y.tolist()), key=str), most=10)
            raise DataError(
                f"{items.source}: column {target!r} holds labels without an order of their own, {found}; "
                "name them in order, lowest first: --levels LOW,MIDDLE,HIGH"
            )
        return None
    words = [word.strip() for word in text.split(",")]
    if not is_number:
        return words
    try:
        return list(pd.to_numeric(pd.Series(words)))
    except ValueError:
        found = f"the labels of {items.source} are numbers"
        raise DataError(f"--levels must be numbers, as {found}, got {text!r}") from None


def open_preferences(file: Path, argument: str, columns: Columns) -> Preferences:
    """Return the preferences of a file of items or of pairs."""
    with _named(argument, file):
        if is_table(file):
            table = read_table(file)
            if set(PAIR) <= set(table.columns):
                return Listed(*read_pairs(table, str(file)))
    return Labelled(open_items(file, argument, columns))


def open_scores(file: Path, argument: str, items: Items) -> Array:
    """Return the scores in a file, one for each of some items."""
    with _named(argument, file):
        scores = read_scores(file)
        if len(scores) != len(items):
            raise DataError(f"{file} has {len(scores)} scores, but {items.source} has {len(items)} items")
        return scores


def require_whole_path(validate: Path | None, max_pieces: int | None, time_limit: float | None) -> None:
    """Raise if paths of folds would be cut, each somewhere else."""
    if validate is None and (max_pieces or time_limit):
        raise DataError(
            "--max-pieces and --time-limit need --validate: folds cut at different C do not compare"
        )


def number_or_word(text: str, words: Sequence[str], option: str) -> Any:
    """Return an option that is a number or one of some words.

    >>> number_or_word("0.5", ("scale",), "--gamma"), number_or_word("scale", ("scale",), "--gamma")
    (0.5, 'scale')
    """
    if text in words:
        return text
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{option} must be a number, {' or '.join(words)}, got {text!r}") from None


@contextmanager
def _named(argument: str, file: Path) -> Iterator[None]:
    """Put the argument that names a file in front of what is wrong with it."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{argument} {error}") from None
    except OSError as error:
        raise DataError(f"{argument} {file}: {error.strerror or error}") from None


# What separates columns beside commas.
SEPARATORS = (";", "\t", "|")
# What messages of `ranking.conjoint` tell to do in Python, and what that is at the shell.
AT_THE_SHELL = {
    "pass none=True": "say --none empty",
    "leave none= out": "leave --none out",
    "it comes with none=True": "it is there if the study has one",
    "pass none_choice=": "say --none-choice ",
    "give none= or none_choice=, not both": "say --none or --none-choice, not both",
    "with none_choice= a column": "with --none-choice a column",
    "leave out weight=": "leave out --weight",
    "in a column, alternative=...,": "in a column, --alternative,",
    "say 'linear' in attributes=": "say --linear",
    "pass its encoding, often encoding='latin-1'": "say its encoding, often --encoding latin-1",
    "read the file with decimal=','": "say --decimal ,",
    "read_scenario(..., extrapolate=True) goes beyond": "nothing is known beyond",
    "leave them out with .only(respondents=...)": "leave their rows out of the file",
    "say which: last=3, tasks=[...] or column='...'": "say how many, or mark some in a column",
    "last must be": "it must be",
    "k must be a number of folds": "--folds must be a number",
    ": (data[chosen] == data[alternative]).astype(int)": "",
    " (all of them: .problems of this error)": "",
}


def at_the_shell(message: str) -> str:
    """Return a message of the library in the words of the command line.

    >>> at_the_shell("all attributes are empty; if this is the none option, pass none=True")
    'all attributes are empty; if this is the none option, say --none empty'
    """
    for python, shell in AT_THE_SHELL.items():
        message = message.replace(python, shell)
    return message


@contextmanager
def about(option: str, file: Path) -> Iterator[None]:
    """Put the argument that names a file in front of what is wrong with it."""
    prefix = f"{option} {file}"
    try:
        yield
    except StudyError as error:
        raise StudyError(f"{prefix}: {error.message}", error.problems, error.shown) from None
    except DataError as error:
        told = at_the_shell(str(error).removeprefix(str(file)).lstrip(": "))
        raise DataError(f"{prefix}: {told}") from None
    except OSError as error:
        raise DataError(f"{prefix}: {error.strerror or error}") from None


def read_dialect(sep: str, decimal: str, encoding: str) -> dict[str, str]:
    """Return how text files are written, as `pandas.read_csv` wants to know it.

    >>> read_dialect(";", ",", "latin-1")
    {'sep': ';', 'decimal': ',', 'encoding': 'latin-1'}
    """
    # a shell hands over a tab most easily as the two letters that stand for it
    sep = "\t" if sep == "\\t" else sep
    if len(sep) != 1 or sep.isalnum() or sep in '\r\n"':
        raise DataError(f"--sep must be one sign, such as , or ; or \\t, got {sep!r}")
    if decimal not in (".", ","):
        raise DataError(f"--decimal must be . or , got {decimal!r}")
    if decimal == sep:
        raise DataError(f"--decimal {decimal} separates columns too; say by --sep what does, often --sep ';'")
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        raise DataError(
            f"--encoding names {encoding!r}, which is not known; say utf-8, latin-1, cp1252 or another one"
        ) from None
    return {"sep": sep, "decimal": decimal, "encoding": encoding}


def read_settings(given: Sequence[str], option: str, example: str) -> dict[str, str]:
    """Return the texts of settings by name, each there once.

    >>> read_settings(["price=falls", "size=rises"], "--order", "price=falls")
    {'price': 'falls', 'size': 'rises'}
    """
    settings: dict[str, str] = {}
    for name, text in (read_setting(words, option, example) for words in given):
        if name in settings:
            raise DataError(f"{option} {name} is there twice, {settings[name]} and {text}; leave one out")
        settings[name] = text
    return settings


def read_setting(words: str, option: str, example: str) -> tuple[str, str]:
    """Return name and text of a setting.

    >>> read_setting("price=falls", "--order", "price=falls")
    ('price', 'falls')
    """
    name, sign, text = words.partition("=")
    if not (name and sign and text):
        raise DataError(f"{option} must be like {example}, got {words!r}")
    return name.strip(), text.strip()


def split_words(text: str | None) -> list[str]:
    """Return the words of a list with commas."""
    return [] if text is None else [word.strip() for word in text.split(",") if word.strip()]


def read_number(word: str, option: str) -> float:
    """Return the number that a word writes."""
    try:
        return float(word)
    except ValueError:
        raise DataError(f"{option} must be a number, got {word!r}") from None


def read_parts(text: str, option: str) -> tuple[float, ...]:
    """Return the numbers between 0 and 1 of a list with commas."""
    found = tuple(read_number(word, option) for word in split_words(text))
    if not found or not all(0 < value < 1 for value in found):
        raise DataError(f"{option} must be numbers between 0 and 1, with commas, got {text!r}")
    return found


def read_value(word: str) -> Any:
    """Return a word, or the number that it writes.

    >>> read_value("12"), read_value("2.5"), read_value("Alba"), read_value("007")
    (12, 2.5, 'Alba', '007')
    """
    for kind in (int, float):
        try:
            if str(kind(word)) == word:
                return kind(word)
        except ValueError:
            pass
    return word


def read_count(text: str) -> int | None:
    """Return a number of tasks, None if it is the name of a column."""
    return int(text) if re.fullmatch(r"-?\d+", text) else None


def require_known(names: Sequence[str], known: Sequence[str], option: str, kind: str) -> None:
    """Raise unless names that an option gives are known."""
    for name in names:
        if name not in known:
            found = values_shown([str(other) for other in known], most=10)
            raise DataError(f"{option} names {name!r}, which is no {kind}; there are {found}")


def require_same(kind: str, wanted: list[str], found: list[str]) -> None:
    """Raise unless names are those of the study, each once."""
    for name in wanted:
        if name not in found:
            raise DataError(f"there is no {kind} {name!r}, which the study has: was it made from this study?")
    for name in found:
        if name not in wanted or found.count(name) > 1:
            raise DataError(f"the {kind} {name!r} is not in the study, or there twice")


def require_columns(known: list[str], roles: dict[str, str], hint: str = "") -> None:
    """Raise unless the columns that options name are there; the hint ends the message."""
    for option, column in roles.items():
        if column not in known:
            hint = separator_hint(known) or hint
            found = values_shown(known, most=10)
            raise DataError(f"there is no column {column!r} ({option}); the columns are {found}{hint}")


def separator_hint(known: list[str]) -> str:
    """Return what to say if the only column there is looks like several."""
    marks = [mark for mark in SEPARATORS if len(known) == 1 and mark in known[0]]
    return "".join(f"; is it separated by {mark!r}? say --sep {mark!r}" for mark in marks[:1])


# What --none says of a none option whose attributes are empty.
EMPTY = "empty"
# Columns that may be something else than attributes: where they have no role, the user is asked.
SUSPECTS = ("weight", "holdout", "none")


def open_study(file: Path, reading: Reading) -> Parts:
    """Return the study of a file, the part to learn from and the part held out, if any is."""
    dialect = _dialect(reading)
    with about("STUDY", file):
        table = read_choice_table(file, **dialect)
        study = _wide_study(table, reading) if reading.wide else _long_study(table, reading)
    if reading.holdout is None:
        return Parts(study, study, None)
    last = read_count(reading.holdout)
    try:
        return Parts(study, *(study.split_holdout() if last is None else study.split_holdout(last=last)))
    except DataError as error:
        told = at_the_shell(str(error).removeprefix(f"last={last}, but "))
        raise DataError(f"--holdout {reading.holdout}: {told}") from None


def open_scenario(file: Path, option: str, study: ConjointStudy, reading: Reading) -> Scenario:
    """Return the products of a file: the first column is their names, the others are attributes."""
    dialect = _dialect(reading)
    with about(option, file):
        table = read_choice_table(file, **dialect)
        if not len(table) or table.shape[1] < 2:
            hint = separator_hint(list(map(str, table.columns)))
            raise DataError(
                f"there must be a column of names, one for every attribute, and a row a product{hint}"
            )
        name = table.columns[0]
        for row, column in table.isna().stack()[lambda is_empty: is_empty].index[:1]:
            raise DataError(
                f"row {row + 1} has nothing in column {column!r}; say all attributes of a product"
            )
        return read_scenario(table.astype({name: str}).set_index(name), study)


def open_part_worths(file: Path, option: str, study: ConjointStudy) -> pd.DataFrame:
    """Return part-worths as `ranking conjoint` writes them, one row a respondent of the study."""
    wanted = flat_names(study.columns)
    with about(option, file):
        # Python reads numbers as they were written, to the last digit
        table = read_choice_table(file, dtype=str)
        require_same("column", [RESPONDENT, *wanted], [name for name in table.columns if name != WEIGHT])
        found = [str(name) for name in table[RESPONDENT]]
        names = [str(name) for name in study.respondents]
        require_same("respondent", names, found)
        worths = table[wanted].set_axis(found).loc[names].apply(_finite)
    return worths.set_axis(study.respondents).set_axis(study.columns, axis=1)


def plan_of(fitting: Fitting, study: ConjointStudy) -> SurveyPlan:
    """Return how part-worths are estimated, from the words of options."""
    if fitting.pooling == "individual" and fitting.refits is not None:
        raise DataError("--refits is for pooled part-worths: everyone alone is the same in every draw")
    if not fitting.jobs:
        raise DataError("--jobs must be a number of processes, or -1 for one a processor, got 0")
    if not fitting.c_max > 0:
        raise DataError(f"--c-max must be a positive number, got {fitting.c_max:g}")
    if fitting.metric == "root_likelihood" and not isfinite(fitting.c_max):
        raise DataError(f"--c-max must be finite for --metric {fitting.metric}, got {fitting.c_max:g}")
    return SurveyPlan(
        metric=fitting.metric,
        choice=fitting.choice,
        folds=fitting.folds,
        seed=fitting.seed,
        pooling=fitting.pooling,
        shrinkage=read_parts(fitting.shrinkage, "--shrinkage"),
        orders=_orders(fitting.order or (), study),
        C_max=fitting.c_max,
        group_size=fitting.group_size or None,
        refits=fitting.refits,
        n_jobs=fitting.jobs,
    )


def price_of(wanted: str | None, study: ConjointStudy) -> str | None:
    """Return the attribute that is money: the one named, or `price` if there is one and it holds numbers."""
    if wanted is None:
        return "price" if _is_money(study.attributes.get("price")) else None
    require_known([wanted], list(study.attributes), "--price-attribute", "attribute")
    if not _is_money(study.attributes[wanted]):
        found = values_shown(list(study.attributes[wanted].labels))
        raise DataError(f"--price-attribute {wanted}: its levels must be numbers, two or more, got {found}")
    return wanted


def _dialect(reading: Reading) -> dict[str, str]:
    return read_dialect(reading.sep, reading.decimal, reading.encoding)


def _long_study(table: pd.DataFrame, reading: Reading) -> ConjointStudy:
    known = [str(name) for name in table.columns]
    chosen, alternative = reading.chosen or "chosen", reading.alternative
    if (
        alternative is None
        and "alternative" in known
        and "alternative" not in split_words(reading.attributes)
    ):
        alternative = "alternative"
    if reading.none_choice is not None:
        raise DataError("--none-choice is for --wide; say --none")
    if reading.pattern != PATTERN:
        raise DataError("--pattern is for --wide, one row a task; say --wide too, or leave it out")
    roles = _roles(reading, chosen) | ({} if alternative is None else {"--alternative": alternative})
    none = _none(reading.none, known)
    roles |= {"--none": none} if isinstance(none, str) else {}
    is_wide = any(map(re.compile(_pattern(PATTERN)).fullmatch, known))
    hint = "; are the alternatives of a task in columns? say --wide" if is_wide else ""
    require_columns(known, roles, hint)
    return ConjointStudy.from_frame(
        table,
        respondent=reading.respondent,
        task=reading.task,
        alternative=alternative,
        chosen=chosen,
        attributes=_attributes(reading, _others(known, reading, roles.values())),
        none=none,
        weight=reading.weight,
        holdout=_column(reading.holdout),
    )


def _wide_study(table: pd.DataFrame, reading: Reading) -> ConjointStudy:
    if reading.alternative is not None:
        raise DataError("--alternative is for one row an alternative; --wide has alternatives in columns")
    known = [str(name) for name in table.columns]
    choice = reading.chosen or "choice"
    roles = _roles(reading, choice)
    require_columns(known, roles)
    shown = _wide_attributes(known, reading.pattern)
    none = _none(reading.none, shown)
    marks = [none] if isinstance(none, str) else []
    return ConjointStudy.from_wide(
        table,
        respondent=reading.respondent,
        task=reading.task,
        choice=choice,
        attributes=_attributes(reading, _others(shown, reading, marks)),
        pattern=reading.pattern,
        none=none,
        none_choice=read_value(reading.none_choice) if reading.none_choice is not None else None,
        weight=reading.weight,
        holdout=_column(reading.holdout),
    )


def _roles(reading: Reading, chosen: str) -> dict[str, str]:
    """Return the columns that were named, by option."""
    named = {"--respondent": reading.respondent, "--task": reading.task, "--chosen": chosen}
    optional = {"--weight": reading.weight, "--holdout": _column(reading.holdout)}
    return named | {option: column for option, column in optional.items() if column is not None}


def _others(known: list[str], reading: Reading, used: Any) -> list[str]:
    """Return the columns of attributes: those named, or all without a role, if it is plain what they are."""
    taken, left_out = set(used), reading.ignore or []
    if reading.attributes is not None:
        named = split_words(reading.attributes)
        require_known(named, known, "--attributes", "column")
        return named
    require_known(left_out, known, "--ignore", "column")
    others = [name for name in known if name not in taken and name not in left_out]
    for name in others:
        if name in SUSPECTS:
            raise DataError(
                f"is the column {name!r} an attribute? Say --{name} {name} if it is what it is called, "
                f"--ignore {name}, or list the attributes, --attributes"
            )
    return others


def _attributes(reading: Reading, names: list[str]) -> dict[str, Any]:
    """Return how every attribute is coded."""
    linear = [word.partition("/") for word in split_words(reading.linear)]
    require_known([name for name, _, _ in linear], names, "--linear", "attribute")
    levels = read_settings(reading.levels or (), "--levels", "size=small,large")
    require_known(list(levels), names, "--levels", "attribute")
    coded: dict[str, Any] = dict.fromkeys(names, "levels")
    coded |= {name: [read_value(word) for word in split_words(text)] for name, text in levels.items()}
    for name, _, unit in linear:
        if name in levels:
            raise DataError(f"--linear {name}: it has --levels too; an attribute is one or the other")
        coded[name] = Attribute.linear(name, unit=read_number(unit or "1", f"--linear {name}/"))
    return coded


def _wide_attributes(known: list[str], pattern: str) -> list[str]:
    """Return the attributes in the names of columns such as alt1_brand."""
    if "{alternative}" not in pattern or "{attribute}" not in pattern:
        raise DataError(f"--pattern must hold {{alternative}} and {{attribute}}, got {pattern!r}")
    like = re.compile(_pattern(pattern))
    found = [match["attribute"] for match in map(like.fullmatch, known) if match]
    if not found:
        raise DataError(f"no column is like --pattern {pattern}; there are {values_shown(known, most=10)}")
    return list(dict.fromkeys(found))


def _pattern(pattern: str) -> str:
    """Return the regular expression of a pattern of columns."""
    fields = {"{alternative}": "(?:.+?)", "{attribute}": "(?P<attribute>.+)"}
    parts = re.split(r"(\{alternative\}|\{attribute\})", pattern)
    return "".join(fields.get(part, re.escape(part)) for part in parts)


def _none(text: str | None, known: list[str]) -> Any:
    """Return how the none option is told: a column, True for empty attributes, or the number they hold."""
    if text is None or text in known:
        return text
    if text == EMPTY:
        return True
    value = read_value(text)
    if isinstance(value, str):
        raise DataError(
            f"--none must be `empty`, a column, or the number that its attributes hold, got {text!r}"
        )
    return value


def _orders(given: Sequence[str], study: ConjointStudy) -> dict[str, Any]:
    settings = read_settings(given, "--order", "price=falls")
    require_known(list(settings), list(study.attributes), "--order", "attribute")
    return {name: _order(name, text, study) for name, text in settings.items()}


def _order(name: str, text: str, study: ConjointStudy) -> str | list[Any]:
    """Return the order of an attribute, one that its levels can have."""
    order = text if text in (RISES, FALLS) else [read_value(word) for word in split_words(text)]
    try:
        order_rows(study, {name: order})
    except DataError as error:
        told = str(error).removeprefix(f"orders[{name!r}] ")
        remedy = f"; or say {name}={RISES} or {name}={FALLS}" if isinstance(order, list) else ""
        raise DataError(f"--order {name}={text} {told}{remedy}") from None
    return order


def _column(holdout: str | None) -> str | None:
    return None if holdout is None or read_count(holdout) is not None else holdout


def _is_money(attribute: Attribute | None) -> bool:
    if attribute is None:
        return False
    numeric = [isinstance(label, int | float) for label in attribute.labels]
    return attribute.is_linear or (len(numeric) > 1 and all(numeric))


def _finite(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return the numbers of a column of part-worths."""
    numbers = [read_number(str(cell), f"{column.name!r} of every respondent") for cell in column]
    for name, number in zip(column.index, numbers, strict=True):
        if not isfinite(number):
            raise DataError(f"{column.name!r} of respondent {name} is not a finite number; correct it")
    return pd.Series(numbers, index=column.index)
