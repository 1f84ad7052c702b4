"""What the conjoint commands open: a study in a CSV file, products, and part-worths written before.

Room: names of files and words of options in, checked records out; a message names the option.
May touch: `errors`, `arguments`, `conjoint`, `conjoint_survey`, `conjoint_tables`, `conjoint_options`,
`conjoint_words`.
"""

import re
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import pandas as pd

from ranking.arguments import values_shown
from ranking.conjoint import Attribute, ConjointStudy, Scenario, read_scenario
from ranking.conjoint.orders import FALLS, RISES, order_rows
from ranking.conjoint.reading import read_table
from ranking.conjoint.wide import PATTERN
from ranking.conjoint_options import Fitting, Reading
from ranking.conjoint_survey import Parts, SurveyPlan
from ranking.conjoint_tables import RESPONDENT, WEIGHT, flat_names
from ranking.conjoint_words import (
    about,
    at_the_shell,
    read_count,
    read_dialect,
    read_number,
    read_parts,
    read_settings,
    read_value,
    require_columns,
    require_known,
    require_same,
    separator_hint,
    split_words,
)
from ranking.errors import DataError

# What --none says of a none option whose attributes are empty.
EMPTY = "empty"
# Columns that may be something else than attributes: where they have no role, the user is asked.
SUSPECTS = ("weight", "holdout", "none")


def open_study(file: Path, reading: Reading) -> Parts:
    """Return the study of a file, the part to learn from and the part held out, if any is."""
    dialect = _dialect(reading)
    with about("STUDY", file):
        table = read_table(file, **dialect)
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
        table = read_table(file, **dialect)
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
        table = read_table(file, dtype=str)
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
