r"""Responses: Λ, how what depends at one item follows what is held at another, for few items of a basis.

Room: a walk in; single responses, local dictionaries and whole columns out. Changes nothing.
May touch: `field`, `kernels`, `walk`.
"""

from dataclasses import dataclass

import numpy as np

from pqp.field import Array
from pqp.kernels import system_product
from pqp.walk import Walk


@dataclass(frozen=True, eq=False)
class Responses:
    """The dictionary of a walk, by parts; what is below `walk.singular` beside its terms is zero."""

    walk: Walk

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
        Lambda, sizes = self._ordered_dictionary(inside, others)
        back = np.argsort(order)
        return np.where(np.abs(Lambda) <= self.walk.singular * sizes, 0.0, Lambda)[back[:, None], back]

    def _ordered_dictionary(self, inside: Array, others: Array) -> tuple[Array, Array]:
        """Return Λ for places in R, then items outside, and the sizes of the terms of its entries."""
        inverse, system = self.walk.inverse, self.walk.setting.system
        K = inverse.values * self.walk.signs[inverse.items]
        across, back = system.block(inverse.items, others), system.block(others, inverse.items)
        solved, corner = self.walk.refined(across), system.block(others, others)
        height, width = _largest(K[inside], 1), _largest(solved, 0)
        count, size = len(inside), len(inside) + len(others)
        Lambda, sizes = np.empty((size, size)), np.empty((size, size))
        Lambda[:count, :count], Lambda[:count, count:] = K[inside[:, None], inside], -solved[inside]
        Lambda[count:, :count], Lambda[count:, count:] = back @ K[:, inside], corner - back @ solved
        sizes[:count, :count], sizes[:count, count:] = np.minimum.outer(height, height), width
        sizes[count:, :count] = width[:, None]
        sizes[count:, count:] = np.abs(corner) + np.multiply.outer(_largest(back, 1), width)
        return Lambda, sizes

    def column(self, item: int) -> Array:
        """Return how everything that depends follows what is held at one item."""
        inverse, system, R = self.walk.inverse, self.walk.setting.system, self.walk.inverse.items
        p = inverse.place[item]
        alone = np.array([item])
        if p >= 0:
            step = inverse.values[:, p] * self.walk.signs[item]
            change = self._product(R, step)
        else:
            step = -inverse.values @ (self.walk.signs[R] * system.block(R, alone)[:, 0])
            change = self._product(np.append(R, item), np.append(step, 1.0))
        change[R] = step
        return change

    def _product(self, items: Array, values: Array) -> Array:
        """Return M[:, items] times values."""
        setting = self.walk.setting
        return system_product(setting.form, setting.system.size, items, values)


def _largest(values: Array, axis: int) -> Array:
    return np.abs(values).max(axis=axis, initial=0.0)
