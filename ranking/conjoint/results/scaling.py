r"""Scaling: part-worths that can be compared between respondents, and the importances of attributes.

The range of an attribute is the difference between its best and its worst level, of a linear attribute that
between the ends of the numbers shown. Zero-centred diffs, a convention of the trade, move the worths within
every attribute to mean 0 and multiply all by one number so that the ranges of the n attributes add up to
100 n. The importance of an attribute is its range in per cent of all ranges. Both are a respondent's own;
averages come after.

What an attribute is moved by, the none option is moved by as well, and linear attributes stay where they
are: so utilities change by a constant and a positive factor only, and every choice stays as it is.
"""

from typing import Any

import numpy as np
import pandas as pd

from ranking.conjoint.results.bootstrap import LEVEL, bootstrap_of
from ranking.conjoint.results.part_worths import AttributeSpace, StudyOrSpace, read_part_worths, space_of
from ranking.core.validation import Array


def attribute_ranges(part_worths: Any, study: StudyOrSpace) -> pd.DataFrame:
    """Return the range of every attribute, one row per respondent."""
    space = space_of(study)
    table = read_part_worths(part_worths, space)
    v = table.to_numpy()
    ranges = {name: _range(v[:, space.block(name)], name, space) for name in space.attributes}
    return pd.DataFrame(ranges, index=table.index)


def zero_centred_diffs(part_worths: Any, study: StudyOrSpace) -> pd.DataFrame:
    """Return part-worths with mean 0 within every attribute and ranges that are 100 on average.

    Rows in which all ranges are 0 have no scale, so they are NaN.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> zero_centred_diffs(example_part_worths().T, example_study())["size"].round(1)
    level         small  large
    price-minded  -24.2   24.2
    brand-minded  -12.9   12.9
    """
    space = space_of(study)
    table = read_part_worths(part_worths, space)
    v = table.to_numpy(copy=True)
    moved = np.zeros(len(v))
    for name, attribute in space.attributes.items():
        if not attribute.is_linear:
            block = space.block(name)
            mean = v[:, block].mean(axis=1)
            v[:, block] -= mean[:, None]
            moved += mean
    if space.has_none:
        v[:, -1] -= moved
    total = attribute_ranges(table, space).to_numpy().sum(axis=1)
    target = 100.0 * len(space.attributes)
    factor = np.divide(target, total, out=np.full(len(v), np.nan), where=total > 0)
    return pd.DataFrame(v * factor[:, None], index=table.index, columns=table.columns)


def importances(part_worths: Any, study: StudyOrSpace) -> pd.DataFrame:
    """Return the importance of every attribute in per cent, one row per respondent; NaN if all ranges are 0.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> importances(example_part_worths().T, example_study()).round(1)
                  brand  roast  size  price
    price-minded   13.6    9.1  12.1   65.2
    brand-minded   54.8   21.0   6.5   17.7
    """
    ranges = attribute_ranges(part_worths, study)
    total = ranges.sum(axis=1)
    return 100 * ranges.div(total.where(total > 0), axis=0)


def part_worth_summary(
    part_worths: Any,
    study: StudyOrSpace,
    zero_centred: bool = True,
    weights: Any = None,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Return the mean part-worth of every level, zero-centred or raw, with its bootstrap interval.

    `part_worths` may be a bootstrap, `respondent_bootstrap(...)` or `refit_bootstrap(...)`, which then says
    how intervals come about; a plain table is drawn from 1000 times.
    """
    space = space_of(study)
    boot = bootstrap_of(part_worths, study, weights)
    means = boot.means(lambda v: zero_centred_diffs(v, space) if zero_centred else v)
    return means.intervals(level).assign(respondents=means.respondents)


def importance_summary(
    part_worths: Any, study: StudyOrSpace, weights: Any = None, level: float = LEVEL
) -> pd.DataFrame:
    """Return the mean importance of every attribute with its bootstrap interval; see `part_worth_summary`.

    `respondents` are those who have importances, which is who finds anything better than anything else.
    """
    space = space_of(study)
    means = bootstrap_of(part_worths, study, weights).means(lambda v: importances(v, space))
    table = means.intervals(level).assign(respondents=means.respondents)
    table.index.name = "attribute"
    return table


def _range(worths: Array, name: str, space: AttributeSpace) -> Array:
    if not space.attributes[name].is_linear:
        return np.ptp(worths, axis=1)
    lo, hi = space.ranges[name]
    return np.asarray(np.abs(worths[:, 0]) * (hi - lo) / space.attributes[name].unit)
