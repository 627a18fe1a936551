# Purpose: finds which variables of a notebook hold memory: tensors and arrays, by the address of their storage.
# Imported by cells.py.
"""A walk over the namespace of the user, bounded in depth, objects and time."""
from __future__ import annotations

import dataclasses
import re
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from ..memory_range import memory_range

_DEPTH = 5  # containers and objects below a variable; a model or an optimizer is one object
_OBJECTS = 200_000
_SECONDS = 0.5

# IPython's own names: what was typed, and copies of what `Out` has.
_NOT_OF_USER = re.compile(r"_+\d*|_i+\d*|_oh|_ih|_dh|In|exit|quit|open|get_ipython")


@dataclasses.dataclass
class Storage:
    """A block that variables hold."""

    address: int
    bytes: int
    is_tensor: bool
    role: str  # of the report, as far as its holder says; else ""
    names: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Held:
    """What the variables of the user hold."""

    storages: dict[tuple[int, int], Storage]
    graphs: dict[str, int]  # variables with an autograd graph, which holds more memory, and its id
    complete: bool  # False: the walk met its bounds


class _Walk:
    def __init__(self) -> None:
        self.held = Held({}, {}, True)
        self._seen: set[int] = set()
        self._until = time.monotonic() + _SECONDS
        # The shortest way to a block names it, so the walk goes in breadth.
        self._queue: deque[tuple[Any, str, int, str]] = deque()

    def run(self, roots: Iterable[tuple[str, Any]]) -> Held:
        self._queue.extend((value, name, _DEPTH, "") for name, value in roots)
        while self._queue:
            if len(self._seen) > _OBJECTS or time.monotonic() > self._until:
                self.held.complete = False
                break
            value, name, depth, role = self._queue.popleft()
            if self._has_memory(value):
                self._add(value, name, role)
            elif id(value) not in self._seen and depth > 0:
                self._seen.add(id(value))
                self._queue.extend((part, name, depth - 1, of_part or role) for part, of_part in _parts(value))
        return self.held

    @staticmethod
    def _has_memory(value: Any) -> bool:
        kind = type(value)
        return (hasattr(kind, "untyped_storage") or hasattr(kind, "__array_interface__")
                or hasattr(kind, "__cuda_array_interface__") or kind in (bytearray, bytes))

    def _add(self, value: Any, name: str, role: str) -> None:
        is_tensor = hasattr(type(value), "untyped_storage")
        if is_tensor:
            grad = getattr(value, "grad", None) if getattr(value, "is_leaf", False) else None
            if grad is not None:
                self._add(grad, name, "gradient")
            graph = getattr(value, "grad_fn", None)
            if graph is not None:
                self.held.graphs.setdefault(name, id(graph))
        found = memory_range(value)
        if found is None or found[1] == 0:
            return
        storage = self.held.storages.setdefault(found, Storage(*found, is_tensor, role))
        if name not in storage.names:
            storage.names.append(name)


def _torch_parts(value: Any) -> Iterator[tuple[Any, str]]:
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if isinstance(value, torch.nn.Module):
        yield from ((one, "parameter") for one in value.parameters())
        yield from ((one, "buffer") for one in value.buffers())
    elif isinstance(value, torch.optim.Optimizer):
        yield [list(state.values()) for state in value.state.values() if isinstance(state, dict)], "optimizer_state"
        yield [group["params"] for group in value.param_groups], "parameter"


def _parts(value: Any) -> Iterator[tuple[Any, str]]:
    """Returns the objects that this one refers to and the user would look for in it, each with the role of its memory."""
    if isinstance(value, dict):
        yield from ((part, "") for part in list(value.values()))
    elif isinstance(value, (list, tuple, set, frozenset, deque)):
        yield from ((part, "") for part in list(value))
    elif not isinstance(value, (type, str, int, float, bool, complex, type(sys), type(_parts))):
        yield from _torch_parts(value)
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            yield from ((part, "") for part in list(attributes.values()))


def _of_traceback(traceback: Any) -> Iterator[Any]:
    """The variables of the functions that an exception left: it keeps them until the next one."""
    while traceback is not None:
        if traceback.tb_frame.f_code.co_name != "<module>":
            yield dict(traceback.tb_frame.f_locals)
        traceback = traceback.tb_next


def _roots(namespace: dict[str, Any], hidden: Iterable[str]) -> Iterator[tuple[str, Any]]:
    unwanted = set(hidden)
    for name, value in list(namespace.items()):
        if name == "Out" and isinstance(value, dict):
            for number, result in list(value.items()):
                yield f"Out[{number}]", result
        elif name not in unwanted and not _NOT_OF_USER.fullmatch(name):
            yield name, value
    for part in _of_traceback(getattr(sys, "last_traceback", None)):
        yield "the last exception (sys.last_traceback)", part


def held_by_variables(namespace: dict[str, Any], hidden: Iterable[str] = ()) -> Held:
    """Returns the blocks that the variables hold, each with the names of the variables. Does not raise."""
    walk = _Walk()
    try:
        # Variables before results: a name is shorter than a number of `Out`.
        return walk.run(sorted(_roots(namespace, hidden), key=lambda root: root[0].startswith(("Out[", "the last "))))
    except Exception:  # an attribute of the user's class may raise anything
        walk.held.complete = False
        return walk.held
