# Purpose: the probe's C functions for the scripts.
# In an interpreter under the probe.
import ctypes
import threading

_probe = ctypes.CDLL(None)
_probe.probe_log.restype = ctypes.c_char_p
_probe.probe_chain.restype = ctypes.c_long
_probe.probe_chain.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
_probe.probe_walk.restype = ctypes.c_size_t
_probe.probe_walk.argtypes = [ctypes.c_size_t]
_probe.probe_identity.restype = ctypes.c_size_t
_probe.probe_modules.restype = ctypes.c_size_t
_probe.probe_module_call.argtypes = [ctypes.c_size_t]
_probe.probe_local.restype = ctypes.c_uint64
_probe.probe_local_of.argtypes = [ctypes.c_size_t, ctypes.c_int]
_probe.probe_text_type.argtypes = [ctypes.c_size_t]
_probe.probe_unnamed.argtypes = [ctypes.c_bool]
_probe.probe_depth.restype = ctypes.c_size_t
_probe.probe_attach.restype = ctypes.c_bool
_probe.probe_attach.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
_local = threading.local()  # ctypes lets other threads run while we read a chain

depth = _probe.probe_depth
clear = _probe.probe_clear
walk = _probe.probe_walk
unnamed = _probe.probe_unnamed  # True: NCCL took memory since the groups were named
attach = _probe.probe_attach


FOLDERS = ("note python-library=", "note python-path=")  # at the start of each interpreter


def log(folders=False):
    """The marks since the last call, one a line; without the notes of folders, or with them."""
    lines = _probe.probe_log().decode().splitlines()
    _probe.probe_clear()
    return [line for line in lines if folders or not line.startswith(FOLDERS)]


def chain():
    """(function, file, first line, line) of each frame, innermost first, that of chain() left out."""
    if not hasattr(_local, "buffer"):
        _local.buffer = ctypes.create_string_buffer(1 << 20)
    used = _probe.probe_chain(_local.buffer, len(_local.buffer))
    if used < 0:
        raise AssertionError("a name did not fit")
    parts = ctypes.string_at(_local.buffer, used).split(b"\0")[:-1]
    frames = [tuple(parts[i : i + 4]) for i in range(0, len(parts), 4)]
    return [(function, file, int(first), int(line)) for function, file, first, line in frames[1:]]


def modules():
    """The ids of the modules that the stack is in, innermost first."""
    out = (ctypes.c_uint64 * 8)()
    return list(out[: _probe.probe_modules(out)])


def module_call(code):
    """Sets the code object whose first argument is a module."""
    _probe.probe_module_call(0 if code is None else id(code))


def local():
    """The key of what the innermost of the known functions has in its variable: the id of an object; 0 if there is none."""
    return _probe.probe_local()


def local_of(code, name):
    """Adds a function with a variable that local() reads."""
    _probe.probe_local_of(id(code), code.co_varnames.index(name))


def text_type(cls):
    _probe.probe_text_type(id(cls))


def identity():
    """Of the caller's frame, as bytes."""
    out = ctypes.create_string_buffer(64)
    size = _probe.probe_identity(out)
    return out.raw[:size]
