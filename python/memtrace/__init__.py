# Purpose: marks that a Python program may set; without memtrace they do nothing.
# Imported by the program.
"""Mark phases and steps for memtrace.

    import memtrace

    with memtrace.phase("validation"):
        ...

    @memtrace.phase("augment")
    def augment(batch): ...

    memtrace.step(n)    # step n begins now; once called, steps come from these calls only
"""
import functools

__all__ = ["active", "phase", "step"]

DISTRIBUTION = "libmemtrace"  # tells this package from another project's of the same name


def _find():
    """The three functions that libmemtrace.so exports, or nothing where it is not loaded."""
    try:
        import ctypes

        # PyDLL: the calls take less than it takes to let go of the GIL.
        library = ctypes.PyDLL(None)
        begin, end, step = library.memtrace_phase_begin, library.memtrace_phase_end, library.memtrace_step
        begin.argtypes, begin.restype = [ctypes.c_char_p], None
        end.argtypes, end.restype = [], None
        step.argtypes, step.restype = [ctypes.c_uint64], None
        return begin, end, step
    except (ImportError, AttributeError, OSError):
        return None


_calls = _find()


def active():
    """Is this process traced?"""
    return _calls is not None


class phase:
    """A phase of this thread: a context manager, or a decorator for a function. Phases nest."""

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = str(name).encode("utf-8", "backslashreplace")

    def __enter__(self):
        if _calls is not None:
            _calls[0](self._name)
        return self

    def __exit__(self, *error):
        if _calls is not None:
            _calls[1]()
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return wrapper


def step(n):
    """Step n begins now."""
    if _calls is not None:
        _calls[2](n)
