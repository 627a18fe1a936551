# Purpose: what differs between versions of CPython and PyTorch. No other file here asks which version it is, or tries two.
# Runs: inside the traced interpreter, before bootstrap.py.
"""See bootstrap.py for the rules. Names that a version lacks only cost the phase or the role that needs them: `_patch`
notes what failed."""


# ---- CPython ---------------------------------------------------------------------------------------------------


def _atexit_module():
    """The module atexit, made aside when the program has not imported it. None before 3.10, where the module has a list of
    its own; from 3.10 on the list is the interpreter's."""
    atexit = sys.modules.get("atexit")
    if atexit is None and sys.version_info >= (3, 10):
        bootstrap = sys.modules["_frozen_importlib"]
        spec = bootstrap.BuiltinImporter.find_spec("atexit")
        atexit = bootstrap.module_from_spec(spec)
        spec.loader.exec_module(atexit)
    return atexit


# ---- PyTorch ---------------------------------------------------------------------------------------------------


def _compiling_test(torch):
    """torch.compiler.is_compiling, since 2.3; torch.compiler itself since 2.1."""
    compiler = getattr(torch, "compiler", None) or torch._utils
    return getattr(compiler, "is_compiling", lambda: False)


def _graph_task(torch):
    """Returns a function that is -1 outside backward, also in the autograd engine's own threads, where there is one."""
    return getattr(torch._C, "_current_graph_task_id", lambda: 0 if _memtrace.inside("backward") else -1)


def _start_of(tensor):
    """Of its storage. Asking for the storage itself makes an object of Python's that the storage then owns, and when the
    interpreter ends such memory stays: an optimizer's states were not given back at exit."""
    known = getattr(sys.modules["torch"]._C, "_data_address", None)  # since 2.2; copies nothing that is lazy
    return known(tensor) if known else tensor.data_ptr() - tensor.storage_offset() * tensor.element_size()


def _is_watched(torch):
    """Under jit.trace or a dispatch mode, to ask for a size is an operation of the program. (It put nodes into the
    traced graph, and crashed.)"""
    return torch._C._get_tracing_state() is not None or torch._C._len_torch_dispatch_stack() > 0
