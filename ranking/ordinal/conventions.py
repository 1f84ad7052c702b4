r"""Conventions: how the numbers of the paper and ours are turned into each other.

Izunaga, Sato, Tatsumi and Yamamoto minimise :math:`\|w\|^2 + c\,(\delta(\xi_-) + \delta(\xi_+))`, we
minimise :math:`\tfrac12\|w\|^2 + C \sum \text{loss}`, half of that: c = 2 C, and the paper's objective is
twice ours. Their c = 15 is C = 7.5. The 1-norm penalty is :math:`\delta(\xi) = \sum_i \xi_i`; by the 2-norm
penalty we understand :math:`\delta(\xi) = \sum_i \xi_i^2`, a choice the paper leaves open. Solutions
(w, p, ξ) are the same.

Room: one number in, one number out.
May touch: nothing.
"""


def paper_to_C(c: float) -> float:
    """Return our C for the penalty parameter c of the paper.

    >>> paper_to_C(15)
    7.5
    """
    return c / 2


def C_to_paper(C: float) -> float:
    """Return the paper's penalty parameter for our C.

    >>> C_to_paper(7.5)
    15.0
    """
    return 2 * C


def objective_to_paper(objective: float) -> float:
    """Return the paper's objective for ours.

    >>> objective_to_paper(0.5)
    1.0
    """
    return 2 * objective
