"""A small survey of coffee for tests of reports and the command line."""

from importlib.resources import files

import pandas as pd

from ranking.conjoint import read_scenario
from ranking.conjoint.data.example import FILE, PACKAGE
from ranking.studies.conjoint import Market, Parts, SurveyPlan, conduct_survey
from tests.ranking.market import COFFEE, PACKS

# So few that a survey takes a second.
FEW = range(1, 7)
PLAN = SurveyPlan(shrinkage=(0.3, 0.7), C_max=0.2, folds=2, refits=5)
OPTIONS = "--none empty --weight weight --holdout holdout --shrinkage 0.3,0.7 --c-max 0.2 --folds 2"
LEVELS = "--levels roast=light,medium,dark --levels size=small,large"


def coffee_rows(respondents=FEW):
    """The rows of the file of some respondents."""
    frame = pd.read_csv(files(PACKAGE) / "data" / FILE)
    return frame[frame["respondent"].isin(list(respondents))]


def parts(study=None):
    """The coffee study of some respondents, with its holdouts."""
    whole = COFFEE.only(respondents=FEW) if study is None else study
    return Parts(whole, *whole.split_holdout())


def survey(plan=PLAN, products=PACKS, price="price", given=None):
    """A survey of these respondents."""
    given = parts() if given is None else given
    market = None if products is None else Market(read_scenario(products, given.study), next(iter(products)))
    return conduct_survey(given, plan, source="coffee.csv", price=price, market=market)
