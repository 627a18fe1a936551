# Purpose: finds the memory of a tensor, an array or a buffer, for a label.
# Imported by the program, with its first label.
"""The address and the size of the block that holds the values of an object."""
from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

_INTERFACES = ("__array_interface__", "__cuda_array_interface__")
_DEPTH = 8  # of views: a view of an array of a buffer


def check_has_memory(thing: object) -> None:
    """Raises TypeError if this object is neither a tensor nor an array nor a buffer, traced or not."""
    if hasattr(thing, "untyped_storage") or any(hasattr(thing, name) for name in _INTERFACES):
        return
    try:
        memoryview(thing)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"memtrace.label: {type(thing).__name__!r} has no memory that a label can name; give a tensor, "
                        "an array or a buffer") from None


def memory_range(thing: Any) -> Optional[tuple[int, int]]:
    """Returns the address and the bytes of the block. Returns None if the object has no memory of its own."""
    try:
        return _range(thing, _DEPTH)
    except Exception:
        # Tensors without storage, such as fake ones, raise various errors. The program must not see one that it would
        # not see without memtrace.
        return None


def _range(thing: Any, depth: int) -> Optional[tuple[int, int]]:
    if hasattr(thing, "untyped_storage"):
        storage = thing.untyped_storage()
        return (int(storage.data_ptr()), int(storage.nbytes())) if storage.data_ptr() else None
    for interface in _INTERFACES:
        found = getattr(thing, interface, None)
        if found is None:
            continue
        base = getattr(thing, "base", None)  # of a view of numpy
        if base is not None and depth > 0:
            return _range(base, depth - 1)
        return int(found["data"][0]), int(getattr(thing, "nbytes", 0))
    if isinstance(thing, memoryview) and depth > 0:
        return _range(thing.obj, depth - 1)
    if type(thing) is bytes:  # the values follow the header in the same block
        return id(thing), sys.getsizeof(thing)
    return _buffer_range(thing)


def _buffer_range(thing: object) -> tuple[int, int]:
    import ctypes

    # As in Python's own header since 3.0. ctypes' from_buffer does not take a buffer that cannot be written.
    class Buffer(ctypes.Structure):
        _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t),
                    ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                    *((name, ctypes.c_void_p) for name in ("format", "shape", "strides", "suboffsets", "internal"))]

    view = Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(thing), ctypes.byref(view), 0)
    try:
        return view.buf or 0, view.len
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))
