# Room: python. Runs inside the traced interpreter, before the program's first import.
# Job: mark the phases of training, by wrappers on PyTorch and its kin as soon as they are imported.
"""Embedded in libmemtrace.so; hooks/python.cpp compiles it and runs it in a dict of its own, with `_memtrace`.

Rules. Nothing is imported here, for that would show (-X importtime, sys.modules). Nothing raises into the program:
each patch is tried by itself, and what another version of a library lacks is noted in the trace. A wrapper pushes,
tries, calls, and pops in `finally`; it asks is_compiling() first, since dynamo cannot trace what is behind it.

The file name this is compiled under holds "importlib" and "_bootstrap": `warnings` skips such frames, so that
stacklevel=2 still names the program's line. `_without_us` takes our frames out of tracebacks.
"""
import sys

AUTO, SKIPPED, GRAD_OFF = 1, 2, 4  # format/event.h


class _Finder:
    """First on sys.meta_path. Has the others find, and looks in when the module has run. Itself it finds the package
    `memtrace` alone, beside the library, when nobody else does."""

    def find_spec(self, name, path=None, target=None):
        if name == "memtrace" and path is None:
            return self._of_others(name, path, target) or self._package()
        if name not in _PATCHES:
            return None
        spec = self._of_others(name, path, target)
        if spec is not None:
            self._watch(spec.loader, name)
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

    def _watch(self, loader, name):
        # The loader stays what it is, with exec_module shadowed on this instance until it is used. `then` is C:
        # it leaves no frame in the traceback of an import that fails.
        def imported(_module):
            del loader.exec_module
            _patch_after(name)

        try:
            loader.exec_module = _memtrace.then(loader.exec_module, imported)
        except Exception:
            _memtrace.note("python-unpatched=" + name)


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
    compiler = getattr(torch, "compiler", None) or torch._utils
    globals().update(
        begin=_memtrace.begin,
        end=_end,
        current=_memtrace.current,
        inside=_memtrace.inside,
        nested=_memtrace.nested,
        get_ident=sys.modules["_thread"].get_ident,
        wraps=sys.modules["functools"].wraps,
        ref=sys.modules["weakref"].ref,
        is_grad_enabled=torch.is_grad_enabled,
        # -1 outside backward; also right in the autograd engine's own threads
        graph_task=getattr(torch._C, "_current_graph_task_id", lambda: 0 if _memtrace.inside("backward") else -1),
        is_compiling=getattr(compiler, "is_compiling", lambda: False),
    )


def _end(phase, flags):
    if _memtrace.end(phase, flags):
        _report_pinned()


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


def _marked(phase, call):
    """`call` inside `phase`, unless that is open already."""

    @wraps(call)
    def wrapper(*args, **kwargs):
        if is_compiling():
            return call(*args, **kwargs)
        outermost = not inside(phase)
        if outermost:
            begin(phase, AUTO)
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


# ---- load ------------------------------------------------------------------------------------------------------

_load_of = None  # the thread that began `load` by constructing its first module; ended by its first forward
_loading = set()  # threads inside an explicit load


def _in_user_code():
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return False
        frame = frame.f_back
    return True


def _module_construction(module):
    """Until the first one; then Module has its own __init__ back."""
    cls = module.Module
    construct = cls.__init__

    @wraps(construct)
    def __init__(self, *args, **kwargs):
        global _load_of
        if not is_compiling() and _load_of is None and _in_user_code():
            if cls.__init__ is __init__:
                cls.__init__ = construct
            me = get_ident()
            if not inside("load"):
                _load_of = me
                begin("load", AUTO)
            else:  # from_pretrained, whose phase becomes ours; or the program's own mark, which it ends itself
                _load_of = me if me in _loading else 0
        construct(self, *args, **kwargs)

    cls.__init__ = __init__


def _end_load():
    global _load_of
    if _load_of == get_ident() and _load_of not in _loading:
        _load_of = 0
        end("load", AUTO)


def _loads(call):
    """As _marked("load"), but leaves open what the construction of a module inside began."""

    @wraps(call)
    def wrapper(*args, **kwargs):
        if is_compiling():
            return call(*args, **kwargs)
        me = get_ident()
        outermost = me not in _loading
        if outermost:
            _loading.add(me)
            if _load_of != me:
                begin("load", AUTO)
        try:
            return call(*args, **kwargs)
        except BaseException as error:
            _without_us(error)
            raise
        finally:
            if outermost:
                _loading.discard(me)
                if _load_of != me:
                    end("load", AUTO)

    return wrapper


def _load(module):
    _replace(module, "load", _loads(module.load))


def _load_file(module):
    _replace(module, "load_file", _loads(module.load_file))


def _load_state_dict(module):
    cls = getattr(module, "Module", None) or module.Optimizer
    cls.load_state_dict = _loads(cls.load_state_dict)


def _from_pretrained(module):
    cls = module.PreTrainedModel
    cls.from_pretrained = classmethod(_loads(vars(cls)["from_pretrained"].__func__))


# ---- forward, eval, recompute ----------------------------------------------------------------------------------


def _module_call(module):
    cls = module.Module
    call = cls.__call__

    @wraps(call)
    def __call__(self, *args, **kwargs):
        if is_compiling():
            return call(self, *args, **kwargs)
        if nested():
            phase = None
        else:
            phase, flags = _outermost(self)
        if phase is not None:
            begin(phase, flags)
        try:
            return call(self, *args, **kwargs)
        except BaseException as error:
            _without_us(error)
            raise
        finally:
            if phase is not None:
                end(phase, AUTO)

    cls.__call__ = __call__


def _outermost(module):
    """The phase that this call is, and its flags."""
    if graph_task() != -1:
        return "recompute", AUTO
    _end_load()
    if inside("load"):
        return None, 0
    if not is_grad_enabled() and inside("step"):
        return None, 0
    if not _is_known(module):
        _report_parameters(module)
    return ("forward", AUTO) if is_grad_enabled() else ("eval", AUTO | GRAD_OFF)


# ---- parameters ------------------------------------------------------------------------------------------------

_roots = {}  # id -> weak reference, of the modules and optimizers whose parameters were counted
_reported = None


def _is_known(root):
    known = _roots.get(id(root))
    return known is not None and known() is root


def _parameters_of(root):
    groups = getattr(root, "param_groups", None)
    if groups is None:
        return root.parameters()
    return (parameter for group in groups for parameter in group["params"])


def _report_parameters(root):
    """Of all roots that live, each parameter once. No reference is kept, not even a weak one: swap_tensors minds."""
    global _reported
    torch = sys.modules["torch"]
    try:
        # Under jit.trace or a dispatch mode, to ask for a size is an operation of the program: counted later. (It
        # put nodes into the traced graph, and crashed.)
        if torch._C._get_tracing_state() is not None or torch._C._len_torch_dispatch_stack() > 0:
            return
        _roots[id(root)] = ref(root)
        seen, dtypes = set(), {}
        count = trainable = size = 0
        with torch._C.DisableTorchFunction():  # else a TorchFunctionMode of the program sees what we ask
            for key, known in list(_roots.items()):
                if known() is None:
                    del _roots[key]
                    continue
                for parameter in _parameters_of(known()):
                    if id(parameter) in seen:
                        continue
                    seen.add(id(parameter))
                    here = getattr(parameter, "_local_tensor", parameter)  # of a DTensor: what this rank has
                    try:
                        numbers = here.numel()
                        size += numbers * here.element_size()
                    except Exception:  # a lazy module's, before its first forward
                        continue
                    count += numbers
                    trainable += numbers if parameter.requires_grad else 0
                    dtype = str(here.dtype).replace("torch.", "")
                    dtypes[dtype] = dtypes.get(dtype, 0) + numbers
        report = (count, trainable, size, len(seen), dtypes)
        if count and report != _reported:
            _reported = report
            _memtrace.parameters(*report)
    except Exception as error:
        _memtrace.note("python-parameters=%r" % (error,))


# ---- backward --------------------------------------------------------------------------------------------------


def _backward(module):
    """The one door to the engine: Tensor.backward, autograd.backward and autograd.grad."""
    run = module._engine_run_backward

    @wraps(run)
    def _engine_run_backward(*args, **kwargs):
        if is_compiling():
            return run(*args, **kwargs)
        outermost = current() != "backward"
        if outermost:
            _end_load()
            begin("backward", AUTO)
        try:
            return run(*args, **kwargs)
        except BaseException as error:
            _without_us(error)
            raise
        finally:
            if outermost:
                end("backward", AUTO)

    _replace(module, "_engine_run_backward", _engine_run_backward)


# ---- step ------------------------------------------------------------------------------------------------------

_updates = {}  # thread -> optimizer steps that ran


def _optimizer_step(module):
    """Optimizer.__init__ hooks its class's `step` by this: ours goes around it, once per class."""
    cls = module.Optimizer
    hook = cls.profile_hook_step

    @wraps(hook)
    def profile_hook_step(func):
        step = hook(func)

        @wraps(step)
        def wrapper(*args, **kwargs):
            if is_compiling():
                return step(*args, **kwargs)
            me = get_ident()
            _updates[me] = _updates.get(me, 0) + 1
            if args and not _is_known(args[0]):
                _report_parameters(args[0])
            outermost = not inside("step")
            if outermost:
                _end_load()
                begin("step", AUTO)
            try:
                return step(*args, **kwargs)
            except BaseException as error:
                _without_us(error)
                raise
            finally:
                if outermost:
                    end("step", AUTO)

        wrapper.hooked = True
        return wrapper

    cls.profile_hook_step = staticmethod(profile_hook_step)


def _scaler_step(module):
    """A step that was skipped for infinities is a step in which no optimizer ran."""
    cls = module.GradScaler
    step = cls.step

    @wraps(step)
    def wrapper(*args, **kwargs):
        if is_compiling() or inside("step"):
            return step(*args, **kwargs)
        me = get_ident()
        before = _updates.get(me, 0)
        flags = AUTO
        begin("step", AUTO)
        try:
            result = step(*args, **kwargs)
            if _updates.get(me, 0) == before:
                flags = AUTO | SKIPPED
            return result
        except BaseException as error:
            _without_us(error)
            raise
        finally:
            end("step", flags)

    cls.step = wrapper


# ---- the others ------------------------------------------------------------------------------------------------


def _save(module):
    _replace(module, "save", _marked("save", module.save))


def _loader_next(module):
    cls = module._BaseDataLoaderIter
    cls.__next__ = _marked("data", cls.__next__)


def _worker_loop(module):
    # All that a worker process does. It is pickled by name under spawn, which finds the wrapper by that name.
    _replace(module, "_worker_loop", _marked("data", module._worker_loop))


def _process_group(module):
    _replace(module, "init_process_group", _marked("init", module.init_process_group))


def _engine(module):
    _replace(module, "initialize", _marked("init", module.initialize))


def _generate(module):
    cls = module.GenerationMixin
    cls.generate = _marked("generate", cls.generate)


_PATCHES = {
    "torch": (),
    "torch.nn.modules.module": (_module_construction, _module_call, _load_state_dict),
    "torch.autograd.graph": (_backward,),
    "torch.optim.optimizer": (_optimizer_step, _load_state_dict),
    "torch.amp.grad_scaler": (_scaler_step,),
    "torch.serialization": (_load, _save),
    "torch.utils.data.dataloader": (_loader_next,),
    "torch.utils.data._utils.worker": (_worker_loop,),
    "torch.distributed.distributed_c10d": (_process_group,),
    "safetensors.torch": (_load_file,),
    "transformers.modeling_utils": (_from_pretrained,),
    "transformers.generation.utils": (_generate,),
    "deepspeed": (_engine,),
}


def _at_exit(call):
    """By the module atexit, made aside when the program has not imported it: its list is the interpreter's."""
    atexit = sys.modules.get("atexit")
    if atexit is None and sys.version_info >= (3, 10):
        bootstrap = sys.modules["_frozen_importlib"]
        spec = bootstrap.BuiltinImporter.find_spec("atexit")
        atexit = bootstrap.module_from_spec(spec)
        spec.loader.exec_module(atexit)
    if atexit is not None:
        atexit.register(call)


def _start():
    if _memtrace.attach(sys._getframe().f_code):
        _at_exit(_memtrace.detach)
    if _memtrace.mode != "auto":
        _PATCHES.clear()
    if _PATCHES or _memtrace.package:
        sys.meta_path.insert(0, _Finder())
    if _memtrace.mode == "auto":
        if "torch" in sys.modules:
            _patch_after("torch")


_start()
