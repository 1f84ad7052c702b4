"""The command `ranking simulate`: shares of products, from a study or from part-worths estimated before.

Room: words in, text on stdout and files out.
May touch: everything to its left.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from ranking import conjoint_options as options
from ranking.conjoint import Scenario, Simulator, price_curve, respondent_bootstrap
from ranking.conjoint.bootstrap import Bootstrap
from ranking.conjoint.simulator import Rule
from ranking.conjoint_command import chosen_product
from ranking.conjoint_opening import open_part_worths, open_scenario, open_study, plan_of, price_of
from ranking.conjoint_options import Fitting, Reading, spread
from ranking.conjoint_plots import plot_price_curve, plot_shares
from ranking.conjoint_survey import Parts, SurveyPlan, choose, drawn
from ranking.delivery import announce, draw
from ranking.errors import DataError
from ranking.estimates import estimates_text, one_decimal, percent
from ranking.files import write_whole
from ranking.opening import PICTURES, require_output
from ranking.terminal import progress_line, say

# What intervals of part-worths that were read back are worth.
DRAWN = (
    "Part-worths are drawn as they are, so that intervals are much too short if respondents were pooled; "
    "without --part-worths the model is fitted to every draw anew."
)
Products = Annotated[
    Path,
    typer.Argument(
        metavar="PRODUCTS",
        help="The market, .csv or .xlsx: names of products, then a column an attribute.",
        show_default=False,
    ),
]
Study = Annotated[
    Path,
    typer.Argument(
        metavar="STUDY", help="Choices, .csv or .xlsx; see `ranking conjoint`.", show_default=False
    ),
]


@spread(reading=Reading, fitting=Fitting)
def simulate(
    study: Study,
    products: Products,
    *,
    rule: options.Shares = "share_of_preference",
    part_worths: options.PartWorths = None,
    scale: options.Scale = None,
    price_curve: options.PriceCurve = None,
    out: options.SharesFile = None,
    plot: options.SharesPlot = None,
    reading: Reading,
    fitting: Fitting,
) -> None:
    """Print the shares that products would have, with intervals.

    Part-worths are those of `ranking conjoint`, read back, or of a model that is fitted first with the same
    choice of parameters. With --price-curve the curve is what is written and drawn.

    \b
    Examples:
      ranking simulate study.csv products.csv --holdout 3
      ranking simulate study.csv products.csv --part-worths out-tables/individual_part_worths.csv --scale 2.1
      ranking simulate study.csv products.csv --price-curve ours --plot curve.png --out curve.csv
    """
    inputs = [file for file in (study, products, part_worths) if file is not None]
    require_output(out, (".csv",), "--out", inputs)
    require_output(plot, PICTURES, "--plot", inputs)
    _require_scale(part_worths, scale, rule)
    parts = open_study(study, reading)
    scenario = open_scenario(products, "PRODUCTS", parts.study, reading)
    price = _price(price_curve, scenario, price_of(fitting.price_attribute, parts.study))
    plan = plan_of(fitting, parts.study)
    if part_worths is not None:
        table = open_part_worths(part_worths, "--part-worths", parts.study)
        simulator = _simulator(respondent_bootstrap(table, parts.train), parts, rule, scale)
        say(DRAWN)
    else:
        simulator = _fitted(parts, plan, rule)
    _deliver(simulator, scenario, price, out, plot)


def _fitted(parts: Parts, plan: SurveyPlan, rule: Rule) -> Simulator:
    """Return the simulator of a model that is fitted as `ranking conjoint` does it."""
    with progress_line() as watch:
        search = choose(parts.train, plan, watch)
        return _simulator(drawn(search, parts.train, plan), parts, rule, search.calibration_.scale)


def _simulator(bootstrap: Bootstrap, parts: Parts, rule: Rule, scale: float | None) -> Simulator:
    return Simulator(bootstrap, parts.train, rule, scale=1.0 if scale is None else scale)


def _deliver(
    simulator: Simulator,
    scenario: Scenario,
    curve: tuple[str, str] | None,
    out: Path | None,
    plot: Path | None,
) -> None:
    """Print shares, and the price curve if one is wanted; write and draw the last of them."""
    shares = simulator.shares(scenario)
    texts = [
        estimates_text(shares, f"Shares by {simulator.rule}, scale {simulator.scale:.4g}", {"share": percent})
    ]
    result: pd.DataFrame = shares
    drawing: Callable[[pd.DataFrame], Any] = plot_shares
    if curve is not None:
        product, price = curve
        result, drawing = price_curve(simulator, scenario, product, price), plot_price_curve
        forms = {"share": percent, "revenue": one_decimal}
        texts.append(estimates_text(result, f"{product} at every {price}, others as they are", forms))
    axes = drawing(result) if plot is not None else None
    if out is not None:
        write_whole(out, result.reset_index().to_csv(index=False).encode())
    announce("\n\n".join(texts), [out])
    if axes is not None and plot is not None:
        draw(axes, plot)


def _require_scale(part_worths: Path | None, scale: float | None, rule: Rule) -> None:
    if part_worths is None and scale is not None:
        raise DataError("--scale is for --part-worths; a model that is fitted here is calibrated")
    if part_worths is not None and scale is None and rule != "first_choice":
        raise DataError(
            f"--part-worths needs --scale for --rule {rule}: settings.csv beside it tells the scale of "
            "utilities; or say --rule first_choice"
        )


def _price(product: str | None, scenario: Scenario, price: str | None) -> tuple[str, str] | None:
    """Return the product whose price curve is wanted, and the attribute that is its price."""
    if product is None:
        return None
    chosen_product(product, list(scenario.products), "--price-curve")
    if price is None:
        raise DataError("--price-curve needs an attribute that is money; name it, --price-attribute")
    return product, price
