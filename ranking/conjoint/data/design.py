r"""The design matrix: alternatives as characteristic vectors, choices as differences of two of them.

The paper's :math:`\chi_a \in \{0, 1\}^m` has a component for every level of every attribute, 1 if it is
present in option a. No level is left out as a reference: the ridge :math:`\tfrac12\|v\|^2` makes part-worths
unique without one, and treats all levels alike. A linear attribute has one component, its number divided by
its unit. The none option has one more, 1 for the none option itself, whose other components are all 0.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ranking.conjoint.data.attributes import NONE, Attribute
from ranking.conjoint.data.choice_table import ChoiceTable
from ranking.core.validation import LARGEST_WHOLE, Array, Integers, read_only


@dataclass(frozen=True, eq=False)
class Differences:
    r"""Rows :math:`n_{ab} = \chi_a - \chi_b`, alternative a chosen over b: k − 1 for a task with k of them.

    For every row the rows (a, b) of the design, the code of the respondent, the number of the task among the
    study's choices, and the respondent's weight. `rows` are integers where the design is.
    """

    rows: Array
    pairs: Integers
    respondent: Integers
    task: Integers
    weight: Array
    columns: pd.MultiIndex

    def __post_init__(self) -> None:
        for name in ("rows", "pairs", "respondent", "task", "weight"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> pd.DataFrame:
        """Return the rows under the names of their columns, indexed by respondent code and task number."""
        index = pd.MultiIndex.from_arrays([self.respondent, self.task], names=["respondent", "task"])
        return pd.DataFrame(self.rows, index=index, columns=self.columns)


def columns_of(table: ChoiceTable) -> pd.MultiIndex:
    """Return the names of the columns of the design, attribute and level; the none option comes last."""
    pairs = [(name, label) for name, entry in table.attributes.items() for label in entry.labels]
    if table.has_none:
        pairs.append((NONE, NONE))
    return pd.MultiIndex.from_tuples(pairs, names=["attribute", "level"])


def design_of(table: ChoiceTable) -> Array:
    """Return the characteristic vectors, one row per alternative; integers if all entries are whole."""
    blocks = [_block(entry, table.profiles[name]) for name, entry in table.attributes.items()]
    if table.has_none:
        blocks.append(table.is_none[:, None].astype(float))
    design = np.hstack(blocks)
    # whole data stay whole, so that certificates of models are about the data themselves
    is_whole = (design == np.rint(design)).all() and (np.abs(design) < LARGEST_WHOLE).all()
    return read_only(design.astype(np.int64) if is_whole else design)


def differences_of(table: ChoiceTable, design: Array, columns: pd.MultiIndex, tasks: Integers) -> Differences:
    """Return the differences of the choices of some tasks, task by task."""
    choices = table.choices
    pairs = choices.pairs()
    task = choices.task_of_row[pairs[:, 0]]
    keep = np.isin(task, tasks)
    pairs, task = pairs[keep], task[keep]
    respondent = choices.respondent[task]
    rows = design[pairs[:, 0]] - design[pairs[:, 1]]
    return Differences(rows, pairs, respondent, task, table.weights[respondent], columns)


def _block(attribute: Attribute, column: Any) -> Array:
    """Return the columns of one attribute; rows of the none option are 0."""
    if attribute.is_linear:
        return column.fillna(0.0).to_numpy(dtype=float)[:, None] / attribute.unit
    codes = column.cat.codes.to_numpy()
    return (codes[:, None] == np.arange(len(attribute.labels))).astype(float)
