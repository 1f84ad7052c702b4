"""The space of products: the attributes of a study, their levels or ranges, and the columns of part-worths.

Room: a study in, what can be said of products and part-worths without its choices out.
May touch: `errors`, `attributes`, `study`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ranking.conjoint.attributes import Attribute
from ranking.conjoint.study import ConjointStudy
from ranking.errors import DataError


@dataclass(frozen=True, eq=False)
class Space:
    """Attributes by name, the smallest and largest number shown of the linear ones, and the columns.

    >>> from ranking.conjoint import example_study
    >>> space = space_of(example_study())
    >>> space.block("size"), space.ranges
    (slice(6, 8, None), {})
    """

    attributes: dict[str, Attribute]
    ranges: dict[str, tuple[float, float]]
    columns: pd.MultiIndex
    has_none: bool

    @cached_property
    def _blocks(self) -> dict[str, slice]:
        sizes = [len(attribute.labels) for attribute in self.attributes.values()]
        ends = np.cumsum(sizes).tolist()
        return {
            name: slice(end - size, end) for name, size, end in zip(self.attributes, sizes, ends, strict=True)
        }

    def block(self, name: str) -> slice:
        """Return which columns are those of an attribute."""
        return self._blocks[name]


# What has a space: a study, or the space itself.
HasSpace: TypeAlias = ConjointStudy | Space


def space_of(study: Any) -> Space:
    """Return the space of a study; linear attributes range over the numbers that were shown."""
    if isinstance(study, Space):
        return study
    if not isinstance(study, ConjointStudy):
        raise DataError(f"study must be a ConjointStudy, or its space, got {type(study).__name__}")
    profiles = study.sheet.profiles
    linear = [name for name, attribute in study.attributes.items() if attribute.is_linear]
    ranges = {name: (float(profiles[name].min()), float(profiles[name].max())) for name in linear}
    return Space(study.attributes, ranges, study.columns, study.has_none)
