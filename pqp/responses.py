r"""Responses: Λ, how what depends at one item follows what is held at another, for few items of a basis.

Room: a walk in; single responses, local dictionaries and whole columns out. Changes nothing.
May touch: `field`, `kernels`, `walk`.
"""

from dataclasses import dataclass

import numpy as np

from pqp.field import ROUNDING, Array
from pqp.kernels import system_product
from pqp.walk import Walk


@dataclass(frozen=True, eq=False)
class Responses:
    """The dictionary of a walk, by parts; what is below `walk.singular` beside its terms is zero."""

    walk: Walk

    @property
    def count(self) -> int:
        """|R|: how many numbers a response is solved for with."""
        return self.walk.inverse.count

    def response(self, item: int) -> float:
        """Return Λ_ii: how what depends at an item follows what is held there; 0 if it does not."""
        inverse, p = self.walk.inverse, self.walk.inverse.place[item]
        if p >= 0:
            column = inverse.column(item)
            value, size = column[p], np.abs(column).max()
        else:
            _, value, size = self.walk.reach(item)
        return 0.0 if abs(value) <= self.walk.singular * size else float(value * self.walk.signs[item])

    def dictionary(self, items: Array) -> Array:
        """Return Λ for the given items: how what depends at one follows what is held at another."""
        places = self.walk.inverse.place[items]
        order = np.argsort(places < 0, kind="stable")  # those in R first
        inside, others = places[order][: int(np.sum(places >= 0))], items[order][int(np.sum(places >= 0)) :]
        Lambda, noise = self._ordered_dictionary(inside, others)
        classes = self.walk.signs[items[order]] * np.where(places[order] < 0, 1.0, -1.0)
        back = np.argsort(order)
        return _cleared(Lambda, noise, classes)[back[:, None], back]

    def _ordered_dictionary(self, inside: Array, others: Array) -> tuple[Array, Array]:
        """Return Λ for places in R, then items outside, and how much of its entries may be round-off.

        That is a share of the terms they are made of and, for what was solved for, of the inverse too.
        """
        inverse, system = self.walk.inverse, self.walk.setting.system
        K = inverse.columns(inside) * self.walk.signs[inverse.items[inside]]
        across, signs = system.block(inverse.items, others), self.walk.signs
        back = signs[others, None] * across.T * signs[inverse.items]  # J M is symmetric
        solved, corner = self.walk.refined(across), system.block(others, others)
        height, width = _largest(K, 0), _largest(solved, 0)
        count, size = len(inside), len(inside) + len(others)
        Lambda, noise = np.empty((size, size)), np.empty((size, size))
        Lambda[:count, :count], Lambda[:count, count:] = K[inside], -solved[inside]
        Lambda[count:, :count], Lambda[count:, count:] = back @ K, corner - back @ solved
        singular, solving = self.walk.singular, ROUNDING * np.multiply.outer(height, _largest(across, 0))
        noise[:count, :count] = singular * np.minimum.outer(height, height)
        noise[:count, count:] = singular * width + solving
        noise[count:, :count] = noise[:count, count:].T
        noise[count:, count:] = singular * (np.abs(corner) + np.multiply.outer(_largest(back, 1), width))
        return Lambda, noise

    def column(self, item: int) -> Array:
        """Return how everything that depends follows what is held at one item."""
        inverse, system, R = self.walk.inverse, self.walk.setting.system, self.walk.inverse.items
        p = inverse.place[item]
        alone = np.array([item])
        if p >= 0:
            step = inverse.column(item) * self.walk.signs[item]
            change = self._product(R, step)
        else:
            step = -inverse.times(self.walk.signs[R, None] * system.block(R, alone))[:, 0]
            change = self._product(np.append(R, item), np.append(step, 1.0))
        change[R] = step
        return change

    def _product(self, items: Array, values: Array) -> Array:
        """Return M[:, items] times values."""
        setting = self.walk.setting
        return system_product(setting.form, setting.system.size, items, values)


def _cleared(Lambda: Array, noise: Array, classes: Array) -> Array:
    """Return Λ without round-off: what could be zero is, and signs are those of a bisymmetric matrix.

    Entries between items of one class are equal, of two classes opposite; a positive semidefinite Λ has
    Λ_ij² ≤ Λ_ii Λ_jj within a class, so a response that is zero takes those beside it along.
    """
    mirror = np.multiply.outer(classes, classes)
    Lambda = np.where(np.abs(Lambda) <= noise, 0.0, (Lambda + mirror * Lambda.T) / 2)
    diagonal = np.diag(Lambda)
    largest = np.abs(diagonal) + np.diag(noise)
    bound = np.sqrt(np.multiply.outer(largest, largest))
    is_still = (mirror > 0) & ((diagonal == 0)[:, None] | (diagonal == 0)) & (np.abs(Lambda) <= bound)
    return np.where(is_still, 0.0, Lambda)


def _largest(values: Array, axis: int) -> Array:
    return np.abs(values).max(axis=axis, initial=0.0)
