# Purpose: mark the phases of training, by wrappers on PyTorch and its kin as soon as they are imported.
# Runs: inside the traced interpreter, before the first import of a framework, after the files whose functions it names.
"""See bootstrap.py for the rules, and for the names that are not defined here."""


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
    "torch.distributed.device_mesh": (_mesh,),
    "torch.distributed.utils": (_group_calls,),
    "torch.distributed._functional_collectives": (_group_calls,),
    "torch.distributed.checkpoint.state_dict_saver": (_saves,),
    "torch.distributed.checkpoint.state_dict_loader": (_load_shards,),
    "megatron.core.parallel_state": (_megatron_groups,),
    "safetensors.torch": (_load_file,),
    "transformers.modeling_utils": (_from_pretrained,),
    "transformers.generation.utils": (_generate,),
    "deepspeed": (_engine,),
    "deepspeed.runtime.pipe.topology": (_deepspeed_grid,),
    "deepspeed.runtime.zero.stage_1_and_2": (_zero_optimizer,),
    "deepspeed.runtime.zero.stage3": (_zero3_optimizer,),
    "deepspeed.ops.adam.cpu_adam": (_cpu_adam,),
    **{name: (_engine_calls,) for name in _ENGINES},
}
_PATCHES["vllm.entrypoints.llm"] += (_worker_calls,)
