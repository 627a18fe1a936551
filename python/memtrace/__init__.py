# Purpose: the names of the package. Only the marks are loaded with it; the names of reports load with their first use.
# Imported by the program.
"""Mark what a program does, and read what memtrace recorded.

In the traced program; without memtrace these calls do nothing:

    import memtrace

    with memtrace.phase("validation"):
        ...

    @memtrace.phase("augment")
    def augment(batch): ...

    memtrace.step(n)                            # step n begins now; once called, steps come from these calls only
    memtrace.label(cache, "kv_cache", "keys")   # the role of the memory of a tensor, array or buffer
    memtrace.snapshot("after load")             # the report says what was alive here
    memtrace.is_recording()

Afterwards:

    trace = memtrace.open("memtrace-out")
    trace.peak().at_peak[0]
    trace.to_pandas("peak")
"""
from .marks import is_recording, label, phase, snapshot, step

TYPE_CHECKING = False  # as typing has it, whose import takes time
if TYPE_CHECKING:
    from .command import CommandError as CommandError
    from .trace import Trace as Trace
    from .trace import open as open  # pylint: disable=redefined-builtin

# Without `open`: `from memtrace import *` must not replace the function that opens files.
__all__ = ["CommandError", "Trace", "is_recording", "label", "phase", "snapshot", "step"]

DISTRIBUTION = "libmemtrace"  # tells this package from another project's of the same name

_MODULES = {"CommandError": "command", "Trace": "trace", "open": "trace"}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module("." + _MODULES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> "list[str]":
    return sorted({*globals(), *_MODULES})
