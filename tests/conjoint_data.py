"""Published choice studies as they are modelled in benchmarks, and made-up ones of any size."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from ranking import ConjointStudy
from ranking.conjoint import Attribute
from tests import data_folder

ROLES = {"respondent": "resp", "task": "task", "chosen": "choice", "alternative": "alt"}
IMMIGRATION = ["Education", "Gender", "CountryOfOrigin", "ReasonForApplication", "Job", "JobExperience"]
IMMIGRATION += ["JobPlans", "PriorEntry", "LanguageSkills"]
# By level wherever there are few; units make numbers about as large as the 0 and 1 of levels.
ATTRIBUTES: dict[str, Any] = {
    "electricity": ["pf", "cl", "loc", "wk", "tod", "seas"],
    "electricity linear": dict.fromkeys(["pf", "cl"], "linear")
    | dict.fromkeys(["loc", "wk", "tod", "seas"], "levels"),
    "minivan": ["seat", "cargo", "eng", "price"],
    "immigration": IMMIGRATION,
    "train": {
        "price": Attribute.linear("price", unit=1000),
        "time": Attribute.linear("time", unit=60),
        "change": "levels",
        "comfort": "levels",
    },
    "yogurt": {"price": Attribute.linear("price", unit=10), "feat": "levels", "brand": "levels"},
}
# How many of the last tasks of every respondent are held out.
HELD = {"electricity": 3, "electricity linear": 3, "minivan": 3, "train": 3, "yogurt": 3, "immigration": 1}
# The options of the paper's setting: 24 levels in all.
ATTRIBUTE_COUNT, LEVEL_COUNT = 6, 4


@cache
def choice_study(name: str) -> ConjointStudy:
    """Return a published study, coded as the rest of its name says."""
    data = name.split()[0]
    file = data_folder.DATA / f"choice_{data}" / f"{data}.csv.gz"
    frame = pd.read_csv(file)
    if data == "yogurt":
        # 6.1000001 was 6.1 before it went through single precision
        frame["price"] = frame["price"].round(4)
    return ConjointStudy.from_frame(frame, attributes=ATTRIBUTES[name], **ROLES)


def made_up_study(respondents: int, tasks: int, options: int, seed: int = 0) -> ConjointStudy:
    """Return choices between random options with 24 levels, by part-worths of every respondent and noise."""
    random = np.random.default_rng(seed)
    count = respondents * tasks * options
    levels = random.integers(LEVEL_COUNT, size=(count, ATTRIBUTE_COUNT))
    who = np.repeat(np.arange(respondents), tasks * options)
    worths = random.normal(size=(respondents, ATTRIBUTE_COUNT, LEVEL_COUNT))
    utility = worths[who[:, None], np.arange(ATTRIBUTE_COUNT), levels].sum(axis=1) + random.gumbel(size=count)
    best = utility.reshape(-1, options).argmax(axis=1)
    frame = pd.DataFrame(levels, columns=[f"attribute {j + 1}" for j in range(ATTRIBUTE_COUNT)])
    frame["resp"], frame["task"] = who, np.repeat(np.arange(respondents * tasks), options)
    frame["alt"] = np.tile(np.arange(options), respondents * tasks)
    frame["choice"] = (frame["alt"].to_numpy() == np.repeat(best, options)).astype(int)
    attributes = {key: list(range(LEVEL_COUNT)) for key in frame.columns[:ATTRIBUTE_COUNT]}
    return ConjointStudy.from_frame(frame, attributes=attributes, **ROLES)
