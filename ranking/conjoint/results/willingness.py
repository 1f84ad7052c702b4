r"""Willingness to pay: what a level is worth in money.

With :math:`s < 0` the worth of one unit of money, the mean over respondents, a level worth d more than
another is worth :math:`-d/s`. Of a price by level, s is the slope of the least squares line through the
worths of its levels. The ratio of two means is nonsense where s may be 0: so an interval is given only if the
bootstrap shows s < 0 at its level, which is also when Fieller's interval for a ratio is bounded; and no
estimate is given if s has the wrong sign. Then the table says why.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd

from ranking.conjoint.data.label_text import listing, text, unknown
from ranking.conjoint.results.bootstrap import LEVEL, PartWorthsOrBootstrap, bootstrap_of
from ranking.conjoint.results.part_worths import AttributeSpace, StudyOrSpace, Weights, space_of
from ranking.core.validation import Array
from ranking.errors import DataError

PRICE = "price"


@dataclass(frozen=True, eq=False)
class WillingnessToPay:
    """Amounts of money, and how far the price can be trusted to be their measure.

    `table`: one row per level, `against` the level it is compared with; for a linear attribute the amount for
    one unit more. `price_slope`: the mean part-worth of one unit of money. `wrong_respondents` and
    `wrong_draws`: shares of respondents, weighted, and of bootstrap draws in which money is worth nothing or
    less (NaN: no draws). `remark`: why amounts or intervals are missing, or empty.
    """

    table: pd.DataFrame
    price_slope: float
    wrong_respondents: float
    wrong_draws: float
    remark: str

    def __str__(self) -> str:
        doubt = f"price has the wrong sign for {self.wrong_respondents:.0%} of the respondents"
        drawn = "" if np.isnan(self.wrong_draws) else f" and in {self.wrong_draws:.1%} of the draws"
        return "\n".join(
            [self.table.to_string(float_format="{:.3g}".format), doubt + drawn, self.remark]
        ).rstrip()


def willingness_to_pay(
    part_worths: PartWorthsOrBootstrap,
    study: StudyOrSpace,
    price: str = PRICE,
    against: Mapping[str, Hashable] | None = None,
    weights: Weights = None,
    level: float = LEVEL,
) -> WillingnessToPay:
    """Return what the levels of all attributes but the price are worth in units of the price.

    Parameters
    ----------
    part_worths, study, weights, level
        As for `part_worth_summary`.
    price
        The attribute that is money: linear, or with numbers as levels.
    against
        By attribute, the level that the others are compared with; by default the first.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> worth = willingness_to_pay(example_part_worths()["price-minded"], example_study())
    >>> worth.table.loc["size"].round(2)
          against  estimate  lo  hi
    level
    large   small      1.12 NaN NaN
    >>> worth.remark
    'no intervals: all have the same part-worths, which shows no scatter; use refit_bootstrap'
    """
    space = space_of(study)
    slope_row = price_row(space, price)
    labels, rows = _level_rows(space, price, against or {})
    boot = bootstrap_of(part_worths, study, weights)
    means = boot.means(lambda v: pd.DataFrame(v.to_numpy() @ np.vstack([slope_row, rows]).T, index=v.index))
    slope, gains = float(means.estimate.iloc[0]), means.estimate.to_numpy()[1:]
    draws = means.draws.to_numpy()
    wrong = float((draws[:, 0] >= 0).mean()) if len(draws) else np.nan
    # why amounts or intervals cannot be given
    remark = ""
    if slope >= 0:
        remark = "no amounts: on average a higher price is not disliked, so money is not a measure here"
    elif np.isnan(wrong):
        remark = "no intervals: all have the same part-worths, which shows no scatter; use refit_bootstrap"
    elif wrong >= (1 - level) / 2:
        remark = (
            f"no intervals: in {wrong:.1%} of the draws a higher price is not disliked, so at level "
            f"{level:g} the worth of money does not differ from 0 and amounts are not bounded"
        )
    lo = hi = np.full(len(gains), np.nan)
    if not remark:
        with np.errstate(divide="ignore", invalid="ignore"):
            # where money is worth nothing, an amount is infinite
            ratios = np.where(draws[:, :1] < 0, draws[:, 1:] / -draws[:, :1], np.sign(draws[:, 1:]) * np.inf)
        # no interpolation between draws, as some may be infinite
        lo, hi = np.quantile(ratios, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
    # a ratio of means: ratios of single respondents have no mean where some slopes are near 0
    estimate = gains / -slope if slope < 0 else np.full(len(gains), np.nan)
    index = pd.MultiIndex.from_tuples([label[:2] for label in labels], names=["attribute", "level"])
    columns = {"against": [label[2] for label in labels], "estimate": estimate, "lo": lo, "hi": hi}
    is_wrong = boot.part_worths.to_numpy() @ slope_row >= 0
    wrong_share = float(np.average(is_wrong, weights=boot.weights))
    return WillingnessToPay(pd.DataFrame(columns, index=index), slope, wrong_share, wrong, remark)


def price_row(space: AttributeSpace, price: str) -> Array:
    """Return the row whose product with part-worths is the worth of one unit of money."""
    if price not in space.attributes:
        message = "{argument} must name an attribute, got {found}"
        raise unknown(message, price, space.attributes, "attributes", argument="price")
    attribute, row = space.attributes[price], np.zeros(len(space.columns))
    if attribute.is_linear:
        row[space.blocks[price]] = 1 / attribute.unit
        return row
    if not all(isinstance(label, Real) for label in attribute.labels) or len(attribute.labels) < 2:
        message = "the levels of {column} must be {expected} to count as money, got {found}"
        shown = listing(attribute.labels)
        raise DataError(message, argument="price", column=price, expected="two or more numbers", found=shown)
    centred = np.array(attribute.labels, dtype=float)
    # the slope of least squares is Σ (x − x̄) v / Σ (x − x̄)², linear in the part-worths v
    centred -= centred.mean()
    row[space.blocks[price]] = centred / (centred @ centred)
    return row


def _level_rows(
    space: AttributeSpace, price: str, against: Mapping[str, Hashable]
) -> tuple[list[tuple[str, Hashable, Hashable]], Array]:
    """Return (attribute, level, compared with) and the rows that give the difference of their worths."""
    for name in against:
        if name not in space.attributes or name == price or space.attributes[name].is_linear:
            message = "{argument} names {column}, which is not an attribute by level other than the price"
            raise DataError(message, argument="against", column=name)
    labels: list[tuple[str, Hashable, Hashable]] = []
    rows: list[Array] = []
    units = np.eye(len(space.columns))
    for name, attribute in space.attributes.items():
        first = space.blocks[name].start
        if name == price:
            continue
        if attribute.is_linear:
            labels.append((name, "one more", ""))
            rows.append(units[first] / attribute.unit)
            continue
        texts = [text(label) for label in attribute.labels]
        wanted = text(against.get(name, attribute.labels[0]))
        if wanted not in texts:
            place = {"argument": f"against[{name!r}]", "column": name}
            message = "{argument}: {found} is not a level"
            raise unknown(message, against[name], attribute.labels, "levels", **place)
        base = texts.index(wanted)
        others = [place for place in range(len(attribute.labels)) if place != base]
        labels += [(name, attribute.labels[place], attribute.labels[base]) for place in others]
        rows += [units[first + place] - units[first + base] for place in others]
    if not rows:
        raise DataError("there is no attribute other than the price", argument="study")
    return labels, np.array(rows)
