"""Path documents made by hand, each with the derivation of its solution; nothing here comes from an engine.

The signs are those of `docs/file-format.md`: P x + c − Aᵀy − z = 0, y ≥ 0 at lower, y ≤ 0 at upper limits.
"""

import copy
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

Document = dict[str, Any]
Numbers = list[Any]
VECTORS = ("x0", "x1", "y0", "y1", "z0", "z1")

# The budget example as a person would write it into a problem file.
HAND_WRITTEN = {
    "format": "pqp-problem",
    "version": 1,
    "P": [[2, 0], [0, 2]],
    "c": [-4, -6],
    "A": [[1, 1]],
    "row_upper": ["mu"],
    "lower": 0,
    "names": ["x", "y"],
}


def affine(constant: Sequence[Any], slope: Sequence[Any] | None = None) -> Document:
    return {"constant": list(constant), "slope": list(slope) if slope is not None else [0] * len(constant)}


def path(problem: Document, interval: Sequence[Any], segments: Sequence[Document]) -> Document:
    frame = {"format": "pqp-path", "version": 1, "method": "by hand", "rule": "none", "arithmetic": "exact"}
    ends = {"interval": list(interval), "asked": list(interval), "stopped": None}
    return {**frame, **ends, "problem": problem, "segments": list(segments)}


def optimal(lo: Any, hi: Any, states: tuple[str, str], **numbers: Sequence[Any]) -> Document:
    """A piece with the states of variables and of rows as two strings of words; vectors not given are 0."""
    variables, rows = (side.split() for side in states)
    sizes = {key: len(rows) if key[0] == "y" else len(variables) for key in VECTORS}
    vectors = {key: list(numbers.get(key, [0] * size)) for key, size in sizes.items()}
    return {"lo": lo, "hi": hi, "status": "optimal", "variables": variables, "rows": rows, **vectors}


def infeasible(lo: Any, hi: Any, rows: tuple[Numbers, Numbers], bounds: tuple[Numbers, Numbers]) -> Document:
    farkas = {"row_lower": rows[0], "row_upper": rows[1], "lower": bounds[0], "upper": bounds[1]}
    return {"lo": lo, "hi": hi, "status": "infeasible", "farkas": farkas}


def unbounded(lo: Any, hi: Any, ray: Numbers, x0: Numbers, x1: Numbers, violation: Numbers) -> Document:
    return {"lo": lo, "hi": hi, "status": "unbounded", "ray": ray, "violation": violation, "x0": x0, "x1": x1}


def budget() -> Document:
    """min x² + y² − 4x − 6y, x + y ≤ mu, x, y ≥ 0 on [-2, 8].

    mu < 0: x + y ≤ mu and x ≥ 0, y ≥ 0 add up to 0 ≤ mu.
    [0, 1]: x = 0, y = mu; row 2y − 6 = 2mu − 6; z_x = −4 − (2mu − 6) = 2 − 2mu.
    [1, 5]: x + y = mu and 2x − 4 = 2y − 6 give x = (mu − 1)/2, y = (mu + 1)/2; row 2x − 4 = mu − 5.
    [5, 8]: the unconstrained minimum (2, 3).
    """
    problem = {
        "P": [[2, 0], [0, 2]],
        "c": affine([-4, -6]),
        "A": [[1, 1]],
        "row_upper": affine([0], [1]),
        "lower": affine([0, 0]),
    }
    return path(
        problem,
        (-2, 8),
        [
            infeasible(-2, 0, ([0], [1]), ([1, 1], [0, 0])),
            optimal(0, 1, ("lower between", "upper"), x1=[0, 1], y0=[-6], y1=[2], z0=[2, 0], z1=[-2, 0]),
            optimal(1, 5, ("between between", "upper"),
                    x0=["-1/2", "1/2"], x1=["1/2", "1/2"], y0=[-5], y1=[1]),
            optimal(5, 8, ("between between", "off"), x0=[2, 3]),
        ],
    )  # fmt: skip


def gram_budget() -> Document:
    """The budget with P = F Fᵀ: (1, 1) and (1, −1) are orthogonal with squared length 2."""
    document = budget()
    document["problem"]["P"] = {"gram": [[1, 1], [1, -1]]}
    return document


def weighted_budget() -> Document:
    """The budget with P = F diag(w) Fᵀ: 2 I is ⅓ + 5⁄3 of one unit vector, and 2 of the other."""
    document = budget()
    document["problem"]["P"] = {"gram": [[1, 1, 0], [0, 0, 1]], "weights": ["1/3", "5/3", 2]}
    return document


def pair_budget() -> Document:
    """The budget with P = D K Dᵀ: for K = I, (e0 − e1)ᵀ(e0 − e1) = 2 and (e0 − e1)ᵀ(e2 − e3) = 0."""
    document = budget()
    identity = [[int(i == j) for j in range(4)] for i in range(4)]
    document["problem"]["P"] = {"pair_gram": {"K": identity, "pairs": [[0, 1], [2, 3]]}}
    return document


def falling() -> Document:
    """min ½x² + (mu − 1/3) y, x ≥ mu, y ≥ 0, x + y ≥ 0 on [-1, 1].

    mu < 1/3: y may grow from (1, 1), which is feasible for all mu ≤ 1.
    mu ≥ 1/3: y = 0 with z_y = mu − 1/3, x = mu with z_x = mu, and x + y = mu > 0.
    """
    problem = {
        "P": [[1, 0], [0, 0]],
        "c": affine([0, "-1/3"], [0, 1]),
        "A": [[1, 1]],
        "row_lower": affine([0]),
        "lower": affine([0, 0], [1, 0]),
    }
    return path(
        problem,
        (-1, 1),
        [
            unbounded(-1, "1/3", [0, 1], [1, 1], [0, 0], [0]),
            optimal("1/3", 1, ("lower lower", "off"), x1=[1, 0], z0=[0, "-1/3"], z1=[1, 1]),
        ],
    )


def closing() -> Document:
    """min −x, x ≥ 0, 0 ≤ w ≤ 1 − 3mu on [0, 1]: unbounded up to and with mu = 1/3, then there is no w."""
    problem = {
        "P": [[0, 0], [0, 0]],
        "c": affine([-1, 0]),
        "lower": affine([0, 0]),
        "upper": affine(["inf", 1], [0, -3]),
    }
    return path(
        problem,
        (0, 1),
        [
            unbounded(0, "1/3", [1, 0], [0, 0], [0, 0], []),
            infeasible("1/3", 1, ([], []), ([0, 1], [0, 1])),
        ],
    )


def threshold(lo: Any = -3, hi: Any = 3) -> Document:
    """min ½x² − mu x + |x|, the |x| being a soft row 0 ≤ x ≤ 0 with penalty 1.

    Stationarity is x − mu − y = 0. Below 0, y = 1: x = mu + 1 for mu ≤ −1. At 0, y = −mu for |mu| ≤ 1.
    Above 0, y = −1: x = mu − 1 for mu ≥ 1.
    """
    problem = {
        "P": [[1]],
        "c": affine([0], [-1]),
        "A": [[1]],
        "row_lower": affine([0]),
        "row_upper": affine([0]),
        "penalty": affine([1]),
    }
    return path(
        problem,
        (lo, hi),
        [
            optimal(lo, -1, ("between", "below"), x0=[1], x1=[1], y0=[1]),
            optimal(-1, 1, ("between", "equal"), y1=[-1]),
            optimal(1, hi, ("between", "above"), x0=[-1], x1=[1], y0=[-1]),
        ],
    )


def whole_line() -> Document:
    """The soft threshold for every real mu."""
    return threshold("-inf", "inf")


def hinge() -> Document:
    """min ½x² + mu · max(0, 1/3 − x) on [-1, 3]: the support vector machine with one point.

    mu < 0: the violation itself may grow. [0, 1/3]: y = mu and x = y. mu ≥ 1/3: x = 1/3 = y ≤ mu.
    """
    problem = {
        "P": [[1]],
        "c": affine([0]),
        "A": [[1]],
        "row_lower": affine(["1/3"]),
        "penalty": affine([0], [1]),
        "constant": ["1/7", 2, -3],
    }
    return path(
        problem,
        (-1, 3),
        [
            unbounded(-1, 0, [0], [0], [0], [1]),
            optimal(0, "1/3", ("between", "below"), x1=[1], y1=[1]),
            optimal("1/3", 3, ("between", "lower"), x0=["1/3"], y0=["1/3"]),
        ],
    )


def single_point() -> Document:
    """min (3mu − 1) x with x free on [-1, 1]: solvable at 1/3 only, by any x; x is held at 0, z = 3mu − 1."""
    problem = {"P": [[0]], "c": affine([-1], [3])}
    return path(
        problem,
        (-1, 1),
        [
            unbounded(-1, "1/3", [1], [0], [0], []),
            optimal("1/3", "1/3", ("zero", ""), z0=[-1], z1=[3]),
            unbounded("1/3", 1, [-1], [0], [0], []),
        ],
    )


def shared() -> Document:
    """min ½(x² + y² + w²), x + y + w = f, w ≤ 1/9, f fixed at mu, x and y free on [-1, 1].

    mu ≤ 1/3: x = y = w = mu/3 = row multiplier; z_f = 0 − (−1) mu/3. All multipliers change sign at 0.
    mu ≥ 1/3: w = 1/9, x = y = row = mu/2 − 1/18; z_w = 1/9 − row = 1/6 − mu/2 ≤ 0; z_f = row.
    """
    problem = {
        "P": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]],
        "c": affine([0, 0, 0, 0]),
        "A": [[1, 1, 1, -1]],
        "row_lower": affine([0]),
        "row_upper": affine([0]),
        "lower": affine(["-inf", "-inf", "-inf", 0], [0, 0, 0, 1]),
        "upper": affine(["inf", "inf", "1/9", 0], [0, 0, 0, 1]),
    }
    return path(
        problem,
        (-1, 1),
        [
            optimal(-1, "1/3", ("between between between fixed", "equal"),
                    x1=["1/3", "1/3", "1/3", 1], y1=["1/3"], z1=[0, 0, 0, "1/3"]),
            optimal("1/3", 1, ("between between upper fixed", "equal"),
                    x0=["-1/18", "-1/18", "1/9", 0], x1=["1/2", "1/2", 0, 1], y0=["-1/18"], y1=["1/2"],
                    z0=[0, 0, "1/6", "-1/18"], z1=[0, 0, "-1/2", "1/2"]),
        ],
    )  # fmt: skip


def jump() -> Document:
    """min (3mu − 1) x on 0 ≤ x ≤ 1 over [-1, 1]: x jumps from 1 to 0 at 1/3, where both cost 0."""
    problem = {"P": [[0]], "c": affine([-1], [3]), "lower": affine([0]), "upper": affine([1])}
    return path(
        problem,
        (-1, 1),
        [
            optimal(-1, "1/3", ("upper", ""), x0=[1], z0=[-1], z1=[3]),
            optimal("1/3", 1, ("lower", ""), z0=[-1], z1=[3]),
        ],
    )


def slot() -> Document:
    """min x², 0 ≤ x ≤ 1, x = mu by a row, on [-1, 2]: x = mu with row 2mu on [0, 1].

    mu < 0: x ≤ mu and x ≥ 0 add up to 0 ≤ mu. mu > 1: x ≥ mu and x ≤ 1 add up to mu ≤ 1.
    """
    problem = {
        "P": [[2]],
        "c": affine([0]),
        "A": [[1]],
        "row_lower": affine([0], [1]),
        "row_upper": affine([0], [1]),
        "lower": affine([0]),
        "upper": affine([1]),
    }
    return path(
        problem,
        (-1, 2),
        [
            infeasible(-1, 0, ([0], [1]), ([1], [0])),
            optimal(0, 1, ("between", "equal"), x1=[1], y1=[2]),
            infeasible(1, 2, ([1], [0]), ([0], [1])),
        ],
    )


BUDGETS = (budget, gram_budget, weighted_budget, pair_budget)
OTHERS = (falling, closing, threshold, whole_line, hinge, single_point, shared, jump, slot)
EXAMPLES: dict[str, Callable[[], Document]] = {make.__name__: make for make in BUDGETS + OTHERS}


def as_float(document: Document) -> Document:
    """The same path as a float engine would state it: ends and solutions rounded to float64."""
    rounded = copy.deepcopy(document)
    rounded["arithmetic"] = "float"
    for segment in rounded["segments"]:
        keys = ["lo", "hi"] if segment["status"] != "optimal" else ["lo", "hi", *VECTORS]
        for key in keys:
            value = segment[key]
            segment[key] = [nearest(v) for v in value] if isinstance(value, list) else nearest(value)
    return rounded


def nearest(value: Any) -> Any:
    return value if value in ("inf", "-inf") else float(Fraction(value))
