# Purpose: the marks that a Python program may set. Without memtrace they do nothing.
# Imported by the program, so it imports nothing until a mark needs it.
"""Phases, steps, labels and snapshots of the traced program."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, Optional, TypeVar, Union

    Function = TypeVar("Function", bound=Callable[..., Any])

# The roles of the report. A label with another role would have no effect.
ROLES = ("parameter", "gradient", "optimizer_state", "activation", "temporary", "master", "input", "buffer",
         "workspace", "comm", "gathered", "staging", "checkpoint", "kv_cache", "context")


class _Library:
    """The functions that libmemtrace.so exports."""

    __slots__ = ("begin", "end", "step", "label", "snapshot", "is_recording")

    def __init__(self) -> None:
        import ctypes

        # PyDLL: the calls take less than it takes to let go of the GIL.
        library = ctypes.PyDLL(None)
        text, size = ctypes.c_char_p, ctypes.c_size_t

        def function(name: str, result: Any, *arguments: Any) -> Any:
            found = getattr(library, "memtrace_" + name)
            found.argtypes, found.restype = list(arguments), result
            return found

        self.begin = function("phase_begin", None, text)
        self.end = function("phase_end", None)
        self.step = function("step", None, ctypes.c_uint64)
        self.label = function("label", None, ctypes.c_void_p, size, text, text)
        # A library that is older than this package lacks the others.
        self.snapshot = function("snapshot", None, text) if hasattr(library, "memtrace_snapshot") else None
        older = not hasattr(library, "memtrace_is_recording")
        self.is_recording = None if older else function("is_recording", ctypes.c_int)


# False: not looked for yet. Looked for at the first mark, because ctypes takes longer to import than this package.
_found: Union[_Library, None, bool] = False


def _find() -> Optional[_Library]:
    """Returns the functions of libmemtrace.so; None if it is not loaded."""
    global _found
    if _found is False:
        try:
            _found = _Library()
        except (ImportError, AttributeError, OSError):
            _found = None
    return _found  # type: ignore[return-value]


def _text(value: object) -> bytes:
    return str(value).encode("utf-8", "backslashreplace")


def is_recording() -> bool:
    """True if memtrace records this process."""
    library = _find()
    return library is not None and (library.is_recording is None or bool(library.is_recording()))


class phase:
    """A phase of this thread: a context manager, or a decorator for a function. Phases nest."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = _text(name)

    def __enter__(self) -> phase:
        library = _find()
        if library is not None:
            library.begin(self._name)
        return self

    def __exit__(self, kind: Optional[type[BaseException]] = None, error: Optional[BaseException] = None,
                 traceback: Optional[TracebackType] = None) -> None:
        library = _find()
        if library is not None:
            library.end()

    def __call__(self, function: Function) -> Function:
        import functools

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]


def step(n: int) -> None:
    """Step n begins now. After the first call, the steps of this process come only from these calls."""
    library = _find()
    if library is not None:
        library.step(n)


def label(thing: object, role: str, name: str = "") -> None:
    """Sets the role of the memory of a tensor, an array or a buffer, and a name for it.

    The role is one of the report's: "parameter", "optimizer_state", "kv_cache" and so on. A view labels all memory that
    it is a view of."""
    from .memory_range import check_has_memory, memory_range

    if role not in ROLES:
        raise ValueError(f"memtrace.label: no role {role!r}; the roles are {', '.join(ROLES)}")
    check_has_memory(thing)
    library = _find()
    if library is None:
        return
    found = memory_range(thing)
    if found is not None:
        library.label(found[0], found[1], role.encode(), _text(name))


def snapshot(name: str) -> None:
    """Marks this instant: the report says what was alive at it."""
    library = _find()
    if library is not None and library.snapshot is not None:
        library.snapshot(_text(name))
