"""What the commands read: items, preferences, studies and products in files, and words in options."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path
from typing import Any, get_args

import networkx as nx
import pandas as pd

from pqp.cli.program import CommandError, about_file, require_output
from ranking.cli.options import Fitting, Learning, Reading
from ranking.conjoint import Attribute, ConjointStudy, Scenario, read_scenario
from ranking.conjoint.data.columns import SEPARATORS
from ranking.conjoint.data.findings import Problems
from ranking.conjoint.data.reading import read_table as read_choice_table
from ranking.conjoint.data.wide import PATTERN, wide_attributes
from ranking.conjoint.results.orders import FALLS, RISES, order_rows
from ranking.core.graph import Reduction, essential_pairs, find_cycle, preference_graph, preference_pairs
from ranking.core.validation import Array, values_shown
from ranking.errors import DataError
from ranking.io.items import (
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
# What --none says of a none option whose attributes are empty.
EMPTY = "empty"
# Columns that are attributes only by mistake, most likely; without a role they are asked about.
SUSPECTS = ("weight", "holdout", "none")


# Items, preferences and scores


@dataclass(frozen=True)
class Columns:
    """Which columns of a CSV file are what, and how many features a LETOR file has, None if it says so.

    `query` is None where items have no queries and labels may be words.
    """

    label: str
    query: str | None
    ignore: Sequence[str] | None = None
    features: int | None = None


def open_items(file: Path, argument: str, columns: Columns, like: Items | None = None) -> Items:
    """Return the items of a file, with the features of others if there are any."""
    count = columns.features if like is None else like.X.shape[1]
    ignore = tuple(columns.ignore or ())
    with about_file(argument, file):
        if columns.query is None:
            items = read_objects(file, columns.label, ignore, count)
        else:
            items = read_items(file, columns.label, columns.query, ignore, count)
        return items if like is None else same_features(items, like)


def open_parts(
    columns: Columns, train: Path, argument: str, learning: Learning
) -> tuple[Items, Items | None, Items | None]:
    """Return the items to learn from, to choose by and to measure on."""
    learnt = open_items(train, argument, columns)
    others = ((learning.validate, "--validate"), (learning.test, "--test"))
    validation, test = (
        None if file is None else open_items(file, option, columns, learnt) for file, option in others
    )
    return learnt, validation, test


def path_parameters(learning: Learning) -> dict[str, Any]:
    """Return the parameters that all paths of items share."""
    return {
        "C_max": learning.c_max,
        "kernel": learning.kernel,
        "gamma": read_number(learning.gamma, "--gamma", ("scale", "auto")),
        "degree": learning.degree,
        "coef0": learning.coef0,
        "max_pieces": learning.max_pieces,
        "time_limit": learning.time_limit,
    }


def require_learnable(learning: Learning, train: Path, out: Path | None, option: str) -> None:
    """Raise before any work if a result could not be written, or if paths of folds would be cut."""
    if learning.validate is None and (learning.max_pieces or learning.time_limit):
        raise CommandError(
            "--max-pieces and --time-limit need --validate: folds that end at different C cannot be compared"
        )
    inputs = [file for file in (train, learning.validate, learning.test) if file is not None]
    require_output(learning.report, PAGES, "--report", inputs)
    require_output(out, (".csv",), option, inputs)


def open_preferences(
    file: Path, argument: str, columns: Columns, drawn: Reduction | None
) -> tuple[dict[str, str], "nx.DiGraph | None"]:
    """Return how many pairs of a file each reduction leaves, and a cycle if there is one, by name.

    The graph of the reduction that is to be drawn comes with them.
    """
    with about_file(argument, file):
        table = read_table(file) if is_table(file) else None
        listed = read_pairs(table) if table is not None and set(PAIR) <= set(table.columns) else None
    if listed is None:
        items = open_items(file, argument, columns)
        kinds: tuple[Reduction, ...] = get_args(Reduction)
        counts: dict[str, str] = {
            kind: str(len(preference_pairs(items.y, items.qid, kind))) for kind in kinds
        }
        # labels are numbers, so what they imply never contradicts itself
        graph = None if drawn is None else preference_graph(items.y, items.qid, drawn)
        return {**counts, "cycle": "none"}, graph
    pairs, names = listed
    if drawn not in (None, "full", "transitive"):
        raise CommandError(f"--reduction {drawn} needs labels; pairs can be full or transitive")
    cycle = find_cycle(pairs, len(names))
    if cycle is None or drawn == "transitive":
        essential = pairs[essential_pairs(pairs, len(names))]
    reduced = "not defined, there is a cycle" if cycle else str(len(essential))
    shown = " > ".join(str(names[i]) for i in [*cycle, cycle[0]]) if cycle else "none"
    kept = essential if drawn == "transitive" else pairs
    graph = None if drawn is None else nx.DiGraph([(names[i], names[j]) for i, j in kept])
    return {"full": str(len(pairs)), "transitive": reduced, "cycle": shown}, graph


def open_scores(file: Path, argument: str, items: Items) -> Array:
    """Return the scores in a file, one per item."""
    with about_file(argument, file):
        scores = read_scores(file)
    if len(scores) != len(items):
        message = f"{argument} {file} has {len(scores)} scores, but {items.source} has {len(items)} items"
        raise CommandError(message)
    return scores


def level_order(text: str | None, items: Items, target: str) -> list[Any] | None:
    """Return the levels named in --levels, lowest first, as words or numbers like the labels of the items.

    None if none are named: numbers have an order of their own, words do not.
    """
    is_number = items.y.dtype.kind in "iuf"
    if text is None:
        if not is_number:
            found = values_shown(sorted(set(items.y.tolist()), key=str), most=10)
            raise CommandError(
                f"{items.source}: column {target!r} holds labels without an order of their own, {found}; "
                "list them in order, lowest first: --levels LOW,MIDDLE,HIGH"
            )
        return None
    words = split_words(text)
    if not is_number:
        return list(words)
    try:
        return list(pd.to_numeric(pd.Series(words)))
    except ValueError:
        found = f"the labels of {items.source} are numbers"
        raise CommandError(f"--levels must be numbers, as {found}, got {text!r}") from None


# Words in options


def split_words(text: str | None) -> list[str]:
    """Return the words of a list with commas."""
    return [] if text is None else [word.strip() for word in text.split(",") if word.strip()]


def read_settings(given: Sequence[str] | None, option: str, example: str) -> dict[str, str]:
    """Return the texts of settings by name; no name may occur twice.

    >>> read_settings(["price=falls", "size=rises"], "--order", "price=falls")
    {'price': 'falls', 'size': 'rises'}
    """
    settings: dict[str, str] = {}
    for words in given or ():
        name, text = (part.strip() for part in (words.partition("=")[0], words.partition("=")[2]))
        if not (name and text):
            raise CommandError(f"{option} must be like {example}, got {words!r}")
        if name in settings:
            raise CommandError(f"{option} {name} occurs twice, {settings[name]} and {text}; leave one out")
        settings[name] = text
    return settings


def read_number(word: str, option: str, others: Sequence[str] = ()) -> Any:
    """Return the number that a word stands for, or the word if it is one of some others.

    >>> read_number("0.5", "--gamma", ("scale",)), read_number("scale", "--gamma", ("scale",))
    (0.5, 'scale')
    """
    if word in others:
        return word
    try:
        return float(word)
    except ValueError:
        wanted = f"a number, {' or '.join(others)}" if others else "a number"
        raise CommandError(f"{option} must be {wanted}, got {word!r}") from None


def read_value(word: str) -> Any:
    """Return a word, or the number that it stands for.

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


def require_known(names: Sequence[str], known: Sequence[str], option: str, kind: str) -> None:
    """Raise unless the names that an option gives are known."""
    for name in names:
        if name not in known:
            found = values_shown([str(other) for other in known], most=10)
            raise CommandError(f"{option} names {name!r}, which is not {kind}; there are {found}")


# Conjoint studies


def open_study(file: Path, reading: Reading) -> Parts:
    """Return the study of a file, the part to learn from and the part held out, if any is."""
    table = _read_choices(file, "STUDY", reading)
    with about_file("STUDY", file):
        unclear = Problems()
        try:
            study = (_wide_study if reading.wide else _long_study)(table, reading, unclear)
        except (CommandError, DataError) as error:
            # together with what else is wrong: whoever names the roles wants to name all of them at once
            unclear.extend(getattr(error, "problems", ()))
            unclear.raise_any()
            raise
        unclear.raise_any()
    if reading.holdout is None:
        return Parts(study, study, None)
    last = None if _holdout_column(reading) is not None else int(reading.holdout)
    return Parts(study, *study.split_holdout(last=last))


def open_scenario(file: Path, argument: str, study: ConjointStudy, reading: Reading) -> Scenario:
    """Return the products of a file: the first column holds their names, the others are attributes."""
    table = _read_choices(file, argument, reading)
    with about_file(argument, file):
        if table.shape[1] < 2:
            raise DataError("there must be a column of names, one per attribute, and one row per product")
        for row, column in table.isna().stack()[lambda is_empty: is_empty].index[:1]:
            message = "row {row} is empty in column {column}"
            raise DataError(message, row=row + 1, column=column, remedy="a product needs every attribute")
        name = table.columns[0]
        return read_scenario(table.astype({name: str}).set_index(name), study)


def open_part_worths(file: Path, argument: str, study: ConjointStudy) -> pd.DataFrame:
    """Return part-worths as `ranking conjoint` writes them, one row per respondent of the study."""
    wanted = flat_names(study.columns)
    with about_file(argument, file):
        # as text first: Python then reads numbers as they were written, to the last digit
        table = read_choice_table(file, dtype=str)
        _require_same("column", [RESPONDENT, *wanted], [name for name in table.columns if name != WEIGHT])
        found = [str(name) for name in table[RESPONDENT]]
        names = [str(name) for name in study.respondents]
        _require_same("respondent", names, found)
        worths = table[wanted].set_axis(found).loc[names].apply(_finite)
    return worths.set_axis(study.respondents).set_axis(study.columns, axis=1)


def plan_of(fitting: Fitting, study: ConjointStudy) -> SurveyPlan:
    """Return how part-worths are estimated, from the words of options."""
    if fitting.pooling == "individual" and fitting.refits is not None:
        message = "--refits is for pooled part-worths: a respondent alone has the same ones in every draw"
        raise CommandError(message)
    if not fitting.jobs:
        raise CommandError("--jobs must be a number of processes, or -1 for one per processor, got 0")
    return SurveyPlan(
        metric=fitting.metric,
        choice=fitting.choice,
        folds=fitting.folds,
        seed=fitting.seed,
        pooling=fitting.pooling,
        shrinkage=tuple(read_number(word, "--shrinkage") for word in fitting.shrinkage.split(",")),
        orders=_orders(fitting.order, study),
        C_max=fitting.c_max,
        group_size=fitting.group_size or None,
        refits=fitting.refits,
        n_jobs=fitting.jobs,
    )


def price_of(wanted: str | None, study: ConjointStudy) -> str | None:
    """Return the attribute that is money: the one named, or `price` if there is one and it holds numbers."""
    if wanted is None:
        return "price" if _is_money(study.attributes.get("price")) else None
    require_known([wanted], list(study.attributes), "--price-attribute", "an attribute")
    if not _is_money(study.attributes[wanted]):
        found = values_shown(list(study.attributes[wanted].labels))
        message = f"--price-attribute {wanted}: its levels must be numbers, two or more, got {found}"
        raise CommandError(message)
    return wanted


def _is_money(attribute: Attribute | None) -> bool:
    if attribute is None:
        return False
    numeric = [isinstance(label, int | float) for label in attribute.labels]
    return attribute.is_linear or (len(numeric) > 1 and all(numeric))


def _read_choices(file: Path, argument: str, reading: Reading) -> pd.DataFrame:
    """Return the table in a file; a single column that looks like several is refused."""
    dialect = read_dialect(reading.sep, reading.decimal, reading.encoding)
    with about_file(argument, file):
        table = read_choice_table(file, **dialect)
        if not len(table):
            raise DataError("there is no row below the header")
        for mark in SEPARATORS:
            if table.shape[1] == 1 and mark in str(table.columns[0]):
                message = "there is only one column, {column}"
                remedy = f"is the file separated by {mark!r}? then use {{setting}}"
                raise DataError(message, column=table.columns[0], remedy=remedy, setting=("sep", mark))
    return table


def read_dialect(sep: str, decimal: str, encoding: str) -> dict[str, str]:
    r"""Return how text files are written, as arguments of `pandas.read_csv`.

    >>> read_dialect(r"\t", ",", "latin-1")
    {'sep': '\t', 'decimal': ',', 'encoding': 'latin-1'}
    """
    # a tab is most easily typed at a shell as the two characters that stand for it
    sep = "\t" if sep == "\\t" else sep
    if len(sep) != 1 or sep.isalnum() or sep in '\r\n"':
        raise CommandError(f"--sep must be one character, such as , or ; or \\t, got {sep!r}")
    if decimal not in (".", ","):
        raise CommandError(f"--decimal must be . or , got {decimal!r}")
    if decimal == sep:
        raise CommandError(f"--sep and --decimal are both {sep!r}; set --sep, for example --sep ';'")
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        raise CommandError(
            f"--encoding names {encoding!r}, which is not known; use utf-8, latin-1, cp1252 or another one"
        ) from None
    return {"sep": sep, "decimal": decimal, "encoding": encoding}


def _long_study(table: pd.DataFrame, reading: Reading, unclear: Problems) -> ConjointStudy:
    if reading.none_choice is not None:
        raise CommandError("--none-choice is for --wide; use --none")
    if reading.pattern != PATTERN:
        raise CommandError("--pattern is for --wide, one row per task; add --wide, or leave --pattern out")
    known = [str(name) for name in table.columns]
    chosen = reading.chosen or "chosen"
    if chosen not in known and wide_attributes(known, PATTERN):
        message = "there is no column {column} ({argument}), but there are columns like alt1_price"
        remedy = "if the alternatives of a task are in columns, use {setting}"
        raise DataError(message, argument="chosen", column=chosen, remedy=remedy, setting=("wide", True))
    alternative = reading.alternative
    if alternative is None and "alternative" in set(known) - set(split_words(reading.attributes)):
        alternative = "alternative"
    none = _none(reading.none, known)
    used = (reading.respondent, reading.task, chosen, alternative, none, reading.weight)
    return ConjointStudy.from_frame(
        table,
        alternative=alternative,
        chosen=chosen,
        none=none,
        **_shared(reading, _attribute_names(known, reading, used, unclear)),
    )


def _wide_study(table: pd.DataFrame, reading: Reading, unclear: Problems) -> ConjointStudy:
    if reading.alternative is not None:
        message = "--alternative is for one row per alternative; with --wide the alternatives are in columns"
        raise CommandError(message)
    known = [str(name) for name in table.columns]
    shown = wide_attributes(known, reading.pattern)
    if not shown:
        found = values_shown(known, most=10)
        raise CommandError(f"no column is like --pattern {reading.pattern}; the columns are {found}")
    none = _none(reading.none, shown)
    return ConjointStudy.from_wide(
        table,
        choice=reading.chosen or "choice",
        pattern=reading.pattern,
        none=none,
        none_choice=None if reading.none_choice is None else read_value(reading.none_choice),
        **_shared(reading, _attribute_names(shown, reading, (none,), unclear)),
    )


def _attribute_names(known: list[str], reading: Reading, used: Sequence[Any], unclear: Problems) -> list[str]:
    """Return the columns of attributes: those named, or all without a role that are not `unclear`."""
    if reading.attributes is not None:
        named = split_words(reading.attributes)
        require_known(named, known, "--attributes", "a column")
        return named
    left_out = reading.ignore or []
    require_known(left_out, known, "--ignore", "a column")
    others = [name for name in known if name not in (*used, *left_out, _holdout_column(reading))]
    for name in [name for name in others if name in SUSPECTS]:
        choices = f"use --{name} {name}, --ignore {name}, or list the attributes with --attributes"
        unclear.add("column {column} has no role", column=name, remedy=choices)
    return [name for name in others if name not in SUSPECTS]


def _shared(reading: Reading, names: list[str]) -> dict[str, Any]:
    """Return the roles that long and wide data share, and how every attribute is coded."""
    linear = [word.partition("/") for word in split_words(reading.linear)]
    require_known([name for name, _, _ in linear], names, "--linear", "an attribute")
    levels = read_settings(reading.levels, "--levels", "size=small,large")
    require_known(list(levels), names, "--levels", "an attribute")
    coded: dict[str, Any] = dict.fromkeys(names, "levels")
    coded |= {name: [read_value(word) for word in split_words(text)] for name, text in levels.items()}
    for name, _, unit in linear:
        if name in levels:
            raise CommandError(f"--linear {name}: it has --levels too; an attribute is one or the other")
        coded[name] = Attribute.linear(name, unit=read_number(unit or "1", f"--linear {name}/"))
    roles = {"respondent": reading.respondent, "task": reading.task, "weight": reading.weight}
    return {**roles, "holdout": _holdout_column(reading), "attributes": coded}


def _none(text: str | None, known: list[str]) -> Any:
    """Return how the none option is recognised: a column, True for empty attributes, or their number."""
    if text is None or text in known:
        return text
    if text == EMPTY:
        return True
    value = read_value(text)
    if isinstance(value, str):
        raise DataError(
            "there is no column {column} ({argument}); the columns are {found}",
            argument="none",
            column=text,
            found=values_shown(known, most=10),
            remedy="if the none option has empty attributes, use {setting}; if they all hold one number, "
            "give that number",
            setting=("none", True),
        )
    return value


def _holdout_column(reading: Reading) -> str | None:
    """Return the column that marks holdout tasks; None if --holdout is a number of tasks."""
    is_number = reading.holdout is not None and re.fullmatch(r"-?\d+", reading.holdout)
    return None if is_number else reading.holdout


def _orders(given: Sequence[str] | None, study: ConjointStudy) -> dict[str, Any]:
    """Return the orders of attributes, ones that their levels can have."""
    settings = read_settings(given, "--order", "price=falls")
    require_known(list(settings), list(study.attributes), "--order", "an attribute")
    orders: dict[str, Any] = {}
    for name, text in settings.items():
        levels = [read_value(word) for word in split_words(text)]
        if text not in (RISES, FALLS) and len(levels) < 2:
            raise CommandError(
                f"--order {name}={text}: an order is {RISES}, {FALLS}, or levels from the worst to the best"
            )
        orders[name] = text if text in (RISES, FALLS) else levels
    order_rows(study, orders)  # raises now rather than after the first fit
    return orders


def _require_same(kind: str, wanted: list[str], found: list[str]) -> None:
    """Raise unless names are those of the study, each once."""
    for name in wanted:
        if name not in found:
            message = f"missing {kind} {{found}}"
            raise DataError(message, found=repr(name), remedy="was this file made from another study?")
    for name in found:
        if name not in wanted or found.count(name) > 1:
            raise DataError(f"the {kind} {{found}} is not in the study, or occurs twice", found=repr(name))


def _finite(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return the numbers of a column of part-worths."""
    numbers = []
    for name, cell in column.items():
        try:
            numbers.append(float(cell))
        except ValueError:
            numbers.append(nan)
        if not isfinite(numbers[-1]):
            message = "{column} of respondent {respondent} is not a finite number"
            raise DataError(message, column=column.name, respondent=name, remedy="correct it")
    return pd.Series(numbers, index=column.index)
