# Purpose: notes the folders of installed code, and has the phases of training marked if the program imports PyTorch or
# its kin.
# Runs: inside the traced interpreter, before the program's first import.
"""Embedded in libmemtrace.so; hooks/python/interpreter_startup.cpp runs it in a dict of its own, with `_memtrace`. The other
files follow in the same dict before the first import of a framework. For an interpreter without one, they would be most
of the cost of its start.

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
        if not _has_patches(name):
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


# The packages of _PATCHES.
_FRAMEWORKS = {"deepspeed", "megatron", "nemo_rl", "openrlhf", "safetensors", "sglang", "torch", "transformers", "trl",
                "verl", "vllm"}


def _has_patches(name):
    return name.partition(".")[0] in _FRAMEWORKS and _wrappers_are_there() and name in _PATCHES


def _wrappers_are_there():
    """Runs the files with the wrappers, once. The last one defines _PATCHES."""
    if "_PATCHES" not in globals():
        try:
            _memtrace.run_wrappers(globals())
        except Exception as error:
            _FRAMEWORKS.clear()
            _memtrace.note("python-wrappers=%r" % (error,))
    return "_PATCHES" in globals()


def _at_exit(call):
    atexit = _atexit_module()
    if atexit is not None:
        atexit.register(call)


def _detach():
    _note_libraries()  # without a finder, nothing called it
    _note_installed_packages()  # after the last import, nothing called it
    if "_PATCHES" in globals() and _group_codes and _memtrace.has_new_group_blocks():
        _name_groups()
    _memtrace.detach()


def _start():
    if _memtrace.attach(sys._getframe().f_code):
        _at_exit(_detach)
    _python_path.extend(_in_python_path())
    _note_libraries()
    if _memtrace.mode != "auto":
        _FRAMEWORKS.clear()
    if _FRAMEWORKS:
        _memtrace.prepare_by(_wrappers_are_there)
    if _FRAMEWORKS or _memtrace.package:
        sys.meta_path.insert(0, _Finder())
    if "torch" in sys.modules and _has_patches("torch"):
        _patch_after("torch")
        for name in _PATCHES:  # an armed process: its frameworks were imported long before it was called
            if name in sys.modules and not name.startswith("torch"):
                _patch_after(name)


_start()
