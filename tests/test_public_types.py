"""No `Any` in the annotations of public names: whoever uses the library with a type checker gets answers."""

import dataclasses
import inspect
import typing
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

import pqp
import ranking

# Methods that belong to the interface of a class although their names begin with an underscore.
SPECIAL = ("__init__", "__call__", "__getitem__", "__iter__", "__len__")


def public_objects(package: ModuleType) -> dict[str, object]:
    """Return the public classes and functions by name, those of public modules included."""
    found = {}
    for name in package.__all__:
        value = getattr(package, name)
        if isinstance(value, ModuleType):
            members = {key: member for key, member in vars(value).items() if not key.startswith("_")}
            found |= {f"{name}.{k}": m for k, m in members.items() if is_own(m, value.__name__)}
        elif inspect.isclass(value) or inspect.isfunction(value):
            found[name] = value
    return found


def is_own(value: object, module: str) -> bool:
    return (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__ == module


def annotations_of(value: object) -> Iterator[tuple[str, object]]:
    """Yield the annotations of a function, or of the fields, properties and methods of a class."""
    if inspect.isfunction(value):
        yield from value.__annotations__.items()
        return
    if dataclasses.is_dataclass(value):
        yield from ((field.name, field.type) for field in dataclasses.fields(value))
    for owner in value.__mro__:
        if not owner.__module__.startswith(("pqp", "ranking")):
            continue
        for name, member in vars(owner).items():
            if name.startswith("_") and name not in SPECIAL:
                continue
            for function in (member, getattr(member, "fget", None), getattr(member, "func", None)):
                if inspect.isfunction(function):
                    yield from ((f"{name}({key})", kind) for key, kind in function.__annotations__.items())


def has_any(kind: object) -> bool:
    """Return whether an annotation is, or contains, Any; entries of arrays are left to numpy and pandas."""
    if isinstance(kind, str):
        return "Any" in kind.replace("pd.Index[Any]", "")
    if kind is typing.Any:
        return True
    if typing.get_origin(kind) in (np.ndarray, np.dtype):
        return False
    return any(map(has_any, kind if isinstance(kind, list) else typing.get_args(kind)))


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package in (pqp, ranking) for name in public_objects(package)]
)
def test_no_annotation_is_any(package, name):
    vague = [where for where, kind in annotations_of(public_objects(package)[name]) if has_any(kind)]
    assert not vague, f"{name} leaves the types of {vague} open"
