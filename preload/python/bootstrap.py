# Purpose: mark the phases of training, by wrappers on PyTorch and its kin as soon as they are imported.
# Runs: inside the traced interpreter, before the program's first import.
"""Embedded in libmemtrace.so; hooks/python/interpreter_startup.cpp compiles it and runs it in a dict of its own, with `_memtrace`.

Rules. Nothing is imported here, for that would show (-X importtime, sys.modules). Nothing raises into the program:
each patch is tried by itself, and what another version of a library lacks is noted in the trace. A wrapper pushes,
tries, calls, and pops in `finally`; it asks is_compiling() first, since dynamo cannot trace what is behind it.

The file name this is compiled under holds "importlib" and "_bootstrap": `warnings` skips such frames, so that
stacklevel=2 still names the program's line. It begins with "<frozen importlib": dynamo compiles no function of such a
file. `_without_us` takes our frames out of tracebacks.
"""
import sys

AUTO, SKIPPED, GRAD_OFF, CLOSURE = 1, 2, 4, 8  # format/records.h


class _Finder:
    """First on sys.meta_path. Has the others find, and looks in when the module has run. Itself it finds the package
    `memtrace` alone, beside the library, when nobody else does."""

    def find_spec(self, name, path=None, target=None):
        if not _inherited_notes:
            _note_libraries()
        elif len(sys.path) != _seen_entries[0]:
            _note_added_packages()
        elif _unread_entries:
            _note_installed_packages()
        if name == "memtrace" and path is None:
            spec = self._of_others(name, path, target)
            if spec is None:
                return self._package()
            self._watch(spec.loader, name, _note_other_package)
            return spec
        if name not in _PATCHES:
            return None
        spec = self._of_others(name, path, target)
        if spec is not None:
            self._watch(spec.loader, name, _patch_after)
        return spec

    def _of_others(self, name, path, target):
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = None if finder is self or find is None else find(name, path, target)
            if spec is not None:
                return spec
        return None

    @staticmethod
    def _package():
        if not _memtrace.package:
            return None
        external = sys.modules["_frozen_importlib_external"]
        return external.spec_from_file_location("memtrace", _memtrace.package)

    def _watch(self, loader, name, after):
        # The loader stays what it is, with exec_module shadowed on this instance until it is used. `then` is C:
        # it leaves no frame in the traceback of an import that fails.
        def imported(_module):
            del loader.exec_module
            after(name)

        try:
            loader.exec_module = _memtrace.then(loader.exec_module, imported)
        except Exception:
            _memtrace.note("python-unpatched=" + name)


_python_path = []
_inherited_notes = []
_seen_entries = [0]  # of sys.path
_unread_entries = []  # of sys.path, which the import system has not read yet


def _note_libraries():
    """Notes the folders of installed code, once `site` has decided about the user's own: then it knows the environment."""
    site = sys.modules.get("site")
    decided = getattr(site, "ENABLE_USER_SITE", None)
    if _inherited_notes or (decided is None and not sys.flags.no_site):
        return
    encodings = getattr(sys.modules.get("encodings"), "__file__", None) or ""
    folders = [encodings.rpartition("/")[0].rpartition("/")[0]]
    try:
        if site is not None:
            folders.extend(site.getsitepackages())
        if decided:
            folders.append(site.getusersitepackages())
    except Exception as error:  # an embedder's own `site`
        _memtrace.note("python-site=%r" % (error,))
    _inherited_notes.extend(["python-library=" + folder for folder in folders if folder])
    _inherited_notes.extend(["python-path=" + folder for folder in _python_path])
    _repeat_notes()


def _note_added_packages():
    """Notes the packages of another environment, which a .pth file or the program added to sys.path."""
    _seen_entries[0] = len(sys.path)
    entries = [entry for entry in sys.path if isinstance(entry, str) and entry]
    for entry in entries:
        if entry.endswith(("/site-packages", "/dist-packages")):
            _note_library(entry)
    _unread_entries[:] = entries


def _note_installed_packages():
    """Notes the folders in which an installer put packages, such as pip --target: they have NAME.dist-info. The names are
    those that the import system has read, so the program sees no more work."""
    for entry in list(_unread_entries):
        names = getattr(sys.path_importer_cache.get(entry), "_path_cache", None)
        if not names:
            continue
        _unread_entries.remove(entry)
        if any(name.endswith(".dist-info") for name in names) and not _has_main_script(entry):
            _note_library(entry)


def _has_main_script(folder):
    """Packages may be installed beside the user's own code. Programs that an installer made are in `bin`."""
    script = str((getattr(sys, "argv", None) or [""])[0])
    try:
        if not script.startswith("/"):
            script = sys.modules["posix"].getcwd() + "/" + script
    except OSError:  # the working directory was removed
        return False
    folder = folder.rstrip("/") + "/"
    return script.startswith(folder) and not script.startswith(folder + "bin/")


def _note_library(folder):
    note = "python-library=" + folder
    if note not in _inherited_notes:
        _inherited_notes.append(note)
        _memtrace.note(note)


def _repeat_notes():
    """Writes the notes again: a forked worker has a trace of its own."""
    for text in _inherited_notes:
        _memtrace.note(text)


def _in_python_path():
    """Returns the folders of PYTHONPATH: they precede the standard library in sys.path."""
    archive = "python%d%d.zip" % sys.version_info[:2]
    before = [entry.endswith(archive) for entry in sys.path]
    return [entry for entry in sys.path[: before.index(True)][:16] if entry] if True in before else []


def _note_other_package(name):
    """The registry has another project of this name, whose package has no marks."""
    module = sys.modules[name]
    if getattr(module, "DISTRIBUTION", None) != "libmemtrace":
        _memtrace.note("python-package=%s" % getattr(module, "__file__", "memtrace"))


def _patch_after(name):
    if name == "torch":  # patched as a whole: while it is being imported its parts are not ready
        for part in _PATCHES:
            if part in sys.modules and part.startswith("torch."):
                _patch(part)
    elif not name.startswith("torch.") or _torch_is_ready():
        _patch(name)


def _torch_is_ready():
    return "is_compiling" in globals()


def _patch(name):
    module = sys.modules[name]
    for patch in _PATCHES[name]:
        try:
            if "torch" in sys.modules and not _torch_is_ready():
                _prepare(sys.modules["torch"])
            patch(module)
        except Exception as error:
            _memtrace.note("python-unpatched=%s.%s %r" % (name, patch.__name__.strip("_"), error))


def _prepare(torch):
    """What the wrappers call, as globals."""
    globals().update(
        begin=_begin,
        clock=sys.modules["time"].perf_counter_ns,
        end=_end,
        current=_memtrace.current,
        inside=_memtrace.inside,
        nested=_memtrace.nested,
        get_ident=sys.modules["_thread"].get_ident,
        wraps=sys.modules["functools"].wraps,
        ref=sys.modules["weakref"].ref,
        is_grad_enabled=torch.is_grad_enabled,
        graph_task=_graph_task(torch),
        is_compiling=_compiling_test(torch),
    )
    _find_collector()


def _find_collector():
    """Has each block marked that the collector of cycles frees. An entry in gc.callbacks would show."""
    gc = sys.modules.get("gc")
    if gc is None or not _memtrace.collector(id(gc.garbage), id(gc.callbacks)):
        _memtrace.note("python-collector=not found")


def _report_pinned():
    """What PyTorch's pinned allocator has in use, and holds. It gives blocks out again that no hook sees."""
    try:
        stats = sys.modules["torch"].cuda.host_memory_stats()  # empty before CUDA is initialised
        if "allocated_bytes.current" in stats:
            _memtrace.pinned(stats["active_bytes.current"], stats["allocated_bytes.current"])
    except Exception as error:
        _memtrace.note("python-pinned=%r" % (error,))


def _without_us(error):
    """For `except`: from 3.11 on, the bare `raise` that follows uses this traceback, which begins below our frame."""
    error.__traceback__ = error.__traceback__.tb_next


def _around(call, before=None, after=None):
    """`before(args, kwargs)`, then `call`, then `after(args, result)`. Neither may raise."""

    @wraps(call)
    def wrapper(*args, **kwargs):
        if before is not None and not is_compiling():
            before(args, kwargs)
        try:
            result = call(*args, **kwargs)
        except BaseException as error:
            _without_us(error)
            raise
        if after is not None:
            after(args, result)
        return result

    return wrapper


def _marked(phase, call):
    """`call` inside `phase`, unless that is open already."""

    @wraps(call)
    def wrapper(*args, **kwargs):
        if is_compiling():
            return call(*args, **kwargs)
        outermost = not inside(phase)
        if outermost:
            begin(phase, AUTO)
        else:
            _end_loss()
        try:
            return call(*args, **kwargs)
        except BaseException as error:
            _without_us(error)
            raise
        finally:
            if outermost:
                end(phase, AUTO)

    return wrapper


def _replace(module, name, wrapper):
    """Also where other modules of PyTorch have imported it by name."""
    original = vars(module)[name]
    for known, other in list(sys.modules.items()):
        if other is module or known == "torch" or known.startswith("torch."):
            names = getattr(other, "__dict__", {})
            if names.get(name) is original:
                names[name] = wrapper


_PATCHES = {
    "torch": (),
    "torch.nn.modules.module": (_module_construction, _module_call, _load_state_dict, _zero_grad),
    "torch.autograd.graph": (_backward,),
    "torch.optim.optimizer": (_optimizer_step, _load_state_dict, _zero_grad),
    "torch.amp.grad_scaler": (_scaler_step,),
    "torch.utils.checkpoint": (_checkpointing, _reentrant_checkpointing),
    "torch.serialization": (_load, _save),
    "torch.utils.data.dataloader": (_loader_next,),
    "torch.utils.data._utils.worker": (_worker_loop,),
    "torch.distributed.distributed_c10d": (_group_calls, _process_group, _gathers),
    "torch.distributed.utils": (_group_calls,),
    "torch.distributed._functional_collectives": (_group_calls,),
    "torch.distributed.checkpoint.state_dict_saver": (_saves,),
    "torch.distributed.checkpoint.state_dict_loader": (_load_shards,),
    "safetensors.torch": (_load_file,),
    "transformers.modeling_utils": (_from_pretrained,),
    "transformers.generation.utils": (_generate,),
    "deepspeed": (_engine,),
    "deepspeed.runtime.zero.stage_1_and_2": (_zero_optimizer,),
    "deepspeed.runtime.zero.stage3": (_zero3_optimizer,),
    "deepspeed.ops.adam.cpu_adam": (_cpu_adam,),
    **{name: (_engine_calls,) for name in _ENGINES},
}
_PATCHES["vllm.entrypoints.llm"] += (_worker_calls,)


def _at_exit(call):
    atexit = _atexit_module()
    if atexit is not None:
        atexit.register(call)


def _detach():
    _note_libraries()  # without a finder, nothing called it
    _note_installed_packages()  # after the last import, nothing called it
    if _group_codes and _memtrace.has_new_group_blocks():
        _name_groups()
    _memtrace.detach()


def _start():
    if _memtrace.attach(sys._getframe().f_code):
        _at_exit(_detach)
    _python_path.extend(_in_python_path())
    _note_libraries()
    if _memtrace.mode != "auto":
        _PATCHES.clear()
    if _PATCHES or _memtrace.package:
        sys.meta_path.insert(0, _Finder())
    if _memtrace.mode == "auto":
        if "torch" in sys.modules:
            _patch_after("torch")


_start()
