"""Importances: ranges of attributes in per cent, and part-worths comparable between respondents.

The range of an attribute is the difference between its best and its worst level, of a linear attribute that
between the ends of the numbers shown. Zero-centred diffs, a convention of the trade, shift the part-worths
within every attribute to mean 0 and multiply all by one number so that the ranges of the n attributes add up
to 100 n. The importance of an attribute is its range in per cent of all ranges. Both are computed for every
respondent first and averaged afterwards.

The none option is shifted by the sum of all shifts, and linear attributes are not shifted. So utilities
change by a constant and a positive factor only, and every choice stays the same.
"""

import numpy as np
import pandas as pd

from ranking.conjoint.results.bootstrap import LEVEL, PartWorthsOrBootstrap, bootstrap_of
from ranking.conjoint.results.part_worths import (
    PartWorths,
    StudyOrSpace,
    Weights,
    read_part_worths,
    space_of,
)


def attribute_ranges(part_worths: PartWorths, study: StudyOrSpace) -> pd.DataFrame:
    """Return the range of every attribute, one row per respondent.

    Parameters
    ----------
    part_worths
        One row per respondent or one for all, with the columns of the study; or a fitted model.
    study
        The study, or its space.
    """
    space = space_of(study)
    table = read_part_worths(part_worths, space)
    ranges = {}
    for name, attribute in space.attributes.items():
        v = table.to_numpy()[:, space.blocks[name]]
        if attribute.is_linear:
            lo, hi = space.ranges[name]
            ranges[name] = np.abs(v[:, 0]) * (hi - lo) / attribute.unit
        else:
            ranges[name] = np.ptp(v, axis=1)
    return pd.DataFrame(ranges, index=table.index)


def zero_centred_diffs(part_worths: PartWorths, study: StudyOrSpace) -> pd.DataFrame:
    """Return part-worths with mean 0 within every attribute and ranges that are 100 on average.

    Rows in which all ranges are 0 have no scale, so they are NaN.

    Parameters are those of `attribute_ranges`.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> zero_centred_diffs(example_part_worths().T, example_study())["size"].round(1)
    level         small  large
    price-minded  -24.2   24.2
    brand-minded  -12.9   12.9
    """
    space = space_of(study)
    table = read_part_worths(part_worths, space)
    v = table.to_numpy(copy=True)
    shift = np.zeros(len(v))
    for name, attribute in space.attributes.items():
        if not attribute.is_linear:
            block = space.blocks[name]
            mean = v[:, block].mean(axis=1)
            v[:, block] -= mean[:, None]
            shift += mean
    # none has no levels to be shifted, so it takes all shifts: differences of utilities stay as they are
    if space.has_none:
        v[:, -1] -= shift
    total = attribute_ranges(table, space).to_numpy().sum(axis=1)
    target = 100.0 * len(space.attributes)
    # all levels alike have no range to scale by: NaN rather than a number that says nothing
    factor = np.divide(target, total, out=np.full(len(v), np.nan), where=total > 0)
    return pd.DataFrame(v * factor[:, None], index=table.index, columns=table.columns)


def importances(part_worths: PartWorths, study: StudyOrSpace) -> pd.DataFrame:
    """Return the importance of every attribute in per cent, one row per respondent; NaN if all ranges are 0.

    Parameters are those of `attribute_ranges`.

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
    part_worths: PartWorthsOrBootstrap,
    study: StudyOrSpace,
    zero_centred: bool = True,
    weights: Weights = None,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Return the mean part-worth of every level, zero-centred or raw, with its bootstrap interval.

    Parameters
    ----------
    part_worths
        One row per respondent or one for all, a fitted model; or a bootstrap, `respondent_bootstrap(...)` or
        `refit_bootstrap(...)`, which then gives the intervals. A table is drawn from 1000 times.
    study
        The study, or its space.
    zero_centred
        Whether part-worths are scaled by `zero_centred_diffs` first.
    weights
        Of the rows; by default those of the study.
    level
        The probability of the intervals.

    Returns
    -------
    pd.DataFrame
        One row per level: estimate, standard_error, lo, hi, and the number of respondents with a value.
    """
    space = space_of(study)
    boot = bootstrap_of(part_worths, study, weights)
    means = boot.means(lambda v: zero_centred_diffs(v, space) if zero_centred else v)
    return means.intervals(level).assign(respondents=means.respondents)


def importance_summary(
    part_worths: PartWorthsOrBootstrap, study: StudyOrSpace, weights: Weights = None, level: float = LEVEL
) -> pd.DataFrame:
    """Return the mean importance of every attribute with its bootstrap interval.

    Parameters and columns are those of `part_worth_summary`. `respondents` counts those who have importances:
    somebody who finds all levels equal has none.
    """
    space = space_of(study)
    means = bootstrap_of(part_worths, study, weights).means(lambda v: importances(v, space))
    table = means.intervals(level).assign(respondents=means.respondents)
    table.index.name = "attribute"
    return table
