# Purpose: how many parameters there are, and what the tensors of modules and optimizers are for, by their addresses.
# Runs: inside the traced interpreter, before the first import of a framework.
"""See bootstrap.py for the rules, and for the names that are not defined here.

No reference is kept, not even a weak one to a tensor: swap_tensors minds. What lives on is labelled once or seldom;
gradients come anew in each step, so of them the first steps are labelled, and then as many as cost a 1000th of the time.
"""

_roots = {}  # id -> weak reference, of the modules and optimizers that were seen
_reported = None
_noted = set()
_ALWAYS, _SHARE = 3, 1000
_places = set()  # the addresses of parameters when they were labelled last
_turns = {"gradients": [0, 0], "states": [0, 0], "engine": [0, 0]}  # how often, and not again before

# Of DeepSpeed's ZeRO: attributes that hold a tensor, or several; the last two are of its third stage.
_OF_ENGINE = {
    "param_buffer_of_bit16_for_cpu_offload_groups": "staging",
    "temp_grad_buffer_for_cpu_offload": "staging",
    "temp_grad_buffer_for_gpu_offload": "staging",
    "accumulated_grads_in_cpu": "gradient",
    "param_groups_fp16_flat_cpu_memory": "parameter",
    "grad_partitions_flat_buffer": "gradient",
}


def _is_known(root):
    known = _roots.get(id(root))
    return known is not None and known() is root


def _living():
    for key, known in list(_roots.items()):
        root = known()
        if root is None:
            del _roots[key]
        else:
            yield root


def _here(tensor):
    """What this rank has: of a DTensor, of a parameter that ZeRO-3 divided."""
    part = getattr(tensor, "_local_tensor", None)
    if part is None:
        part = getattr(tensor, "ds_tensor", None)
    return tensor if part is None else part


def _is_module(root):
    return isinstance(root, sys.modules["torch.nn.modules.module"].Module)


def _members(module, kind):
    """Yields the name, the tensor and the path of the module of all `_parameters` or `_buffers`. Reads the dictionaries
    of the modules: a method of the program's, such as its own `named_parameters`, may do anything."""
    left, seen = [("", module)], set()
    while left:
        prefix, one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        held = vars(one)
        path = _paths.get(id(one), "")
        yield from ((prefix + name, tensor, path) for name, tensor in held.get(kind, {}).items() if tensor is not None)
        left.extend((prefix + name + ".", part) for name, part in reversed(list(held.get("_modules", {}).items())))


def _states(optimizer):
    """The id and the state of each parameter. A class of the program's may have something else under this name."""
    state = vars(optimizer).get("state")
    if not isinstance(state, dict):
        return []
    return [(id(parameter), one) for parameter, one in state.items() if isinstance(one, dict)]


def _parameters():
    """Of all roots that live, each parameter once: its role, its name, itself, the path of its module.

    What an optimizer has and no module is a master copy where a module has the same shape in a narrower type, or where
    it is larger than any of the modules': engines make one of each partition.
    """
    roots = list(_living())
    seen, narrowest, largest = set(), {}, 0
    for root in roots:
        if not _is_module(root):
            continue
        for name, parameter, path in _members(root, "_parameters"):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                try:
                    here = _here(parameter)
                    largest = max(largest, here.numel())
                    shape, size = tuple(here.shape), here.element_size()
                except Exception:  # a lazy module's, before its first forward
                    continue
                narrowest[shape] = min(size, narrowest.get(shape, size))
                yield "parameter", name, parameter, path
    for root in roots:
        for group in () if _is_module(root) else root.param_groups:
            for parameter in group["params"]:
                if id(parameter) in seen:
                    continue
                seen.add(id(parameter))
                here = _here(parameter)
                copied = narrowest.get(tuple(here.shape), 8) < here.element_size() or 0 < largest < here.numel()
                yield "master" if copied else "parameter", "", parameter, ""


def _of_models():
    """The tensors that roots have. One without memory of its own may be among them."""
    for _, _, parameter, _ in _parameters():
        yield parameter
        if parameter.is_leaf and parameter.grad is not None:
            yield parameter.grad
    for root in _living():
        if _is_module(root):
            yield from (buffer for _, buffer, _ in _members(root, "_buffers"))
        else:
            for _, state in _states(root):
                yield from (value for value in state.values() if hasattr(value, "storage_offset"))


def _without_collections(walk):
    """Calls `walk()` without Python's collector. The collector would take objects that the walk holds for used, and
    move their cycles to an older generation. Then 31 dead modules lived at once instead of 18. Limit: if another thread
    calls gc.disable() meanwhile, this call enables the collector again."""
    gc = sys.modules.get("gc")
    if gc is None or not gc.isenabled():
        walk()
        return
    gc.disable()
    try:
        walk()
    finally:
        gc.enable()


def _report_parameters(root):
    """Counts and labels what all roots have, where one is new."""
    _without_collections(lambda: _count_parameters(root))


def _count_parameters(root):
    global _reported
    torch = sys.modules["torch"]
    try:
        if _is_watched(torch):
            return
        _roots[id(root)] = ref(root)
        if not _is_module(root):
            _note_optimizer(root)
        dtypes = {}
        count = trainable = size = tensors = 0
        _places.clear()
        with torch._C.DisableTorchFunction():  # else a TorchFunctionMode of the program sees what we ask
            if _is_module(root):
                _name_modules()
            for role, name, parameter, path in _parameters():
                _label(parameter, role, name, path)
                _places.add(_address(parameter))
                if role != "parameter":
                    continue
                numbers, taken, dtype = _as_packed(parameter)
                tensors += 1
                count += numbers
                size += taken
                trainable += numbers if parameter.requires_grad else 0
                dtypes[dtype] = dtypes.get(dtype, 0) + numbers
            for numbers, taken, dtype in _packed_layers(list(filter(_is_module, _living()))):
                tensors += 1
                count += numbers
                size += taken
                dtypes[dtype] = dtypes.get(dtype, 0) + numbers
            if _is_module(root):
                for name, buffer, path in _members(root, "_buffers"):
                    _label(buffer, "buffer", name, path)
        report = (count, trainable, size, tensors, dtypes)
        if count and report != _reported:
            _reported = report
            _memtrace.parameters(*report)
    except Exception as error:
        _memtrace.note("python-parameters=%r" % (error,))


def _note_optimizer(optimizer):
    """What its memory depends on: which one it is, and the options of its kind."""
    options = ("foreach", "fused", "amsgrad", "momentum", "centered", "maximize")
    chosen = ["%s=%s" % (key, optimizer.defaults[key]) for key in options if optimizer.defaults.get(key)]
    text = " ".join([type(optimizer).__name__] + chosen)
    if text not in _noted:
        _noted.add(text)
        _memtrace.note("optimizer=" + text)


def _address(tensor):
    """As `_start_of`; 0: it has no memory, as a fake, a wrapper, a sparse one."""
    try:
        return _start_of(_here(tensor))
    except Exception:
        return 0


def _label(tensor, role, name, path=""):
    """Of the memory that the tensor is a view of: a gradient in a bucket labels the bucket."""
    try:
        for part in _parts_of(tensor):
            address = _start_of(part)
            if address:
                device = part.device
                number = device.index + 1 if device.type == "cuda" else 0
                _memtrace.label(address, part.numel() * part.element_size(), role, name, number, path)
    except Exception:  # a tensor without storage: a fake, a wrapper, a sparse one
        pass


def _in_turn(what, label):
    """`label()`, if it is its turn."""
    turn = _turns[what]
    began = clock()
    torch = sys.modules["torch"]
    if (turn[0] >= _ALWAYS and began < turn[1]) or _is_watched(torch):
        return
    try:
        with torch._C.DisableTorchFunction():
            _without_collections(label)
    except Exception as error:
        _memtrace.note("python-roles=%r" % (error,))
    now = clock()
    _turns[what] = [turn[0] + 1, now + _SHARE * (now - began)]


def _label_gradients():
    """Before an update: by then a program has cast, gathered or clipped them."""

    def label():
        _places.clear()
        _name_modules()  # anew: the program may have changed its models
        for role, name, parameter, path in _parameters():
            _places.add(_address(parameter))
            gradient = parameter.grad if parameter.is_leaf else None
            if gradient is not None:
                _label(gradient, "gradient", name, path)
            _label(parameter, role, name, path)

    _in_turn("gradients", label)


def _label_states(optimizer):
    def label():
        paths = {id(parameter): path for _, _, parameter, path in _parameters()}
        for key, state in _states(optimizer):
            for name, value in state.items():
                if getattr(value, "ndim", 0) > 0:  # the count of steps is a tensor, too
                    _label(value, "optimizer_state", name, paths.get(key, ""))

    if "state" in getattr(optimizer, "__dict__", ()):
        _in_turn("states", label)


def _label_engine(optimizer):
    def label():
        for name, role in _OF_ENGINE.items():
            held = getattr(optimizer, name, None)
            if held is None:
                continue
            held = held.values() if isinstance(held, dict) else held if isinstance(held, list) else [held]
            for tensor in held:
                _label(tensor, role, name)
        for bucket in getattr(optimizer, "ipg_buckets", {}).values():
            buffers = bucket.buffer
            for tensor in buffers if isinstance(buffers, list) else [buffers]:
                _label(tensor, "comm", "ipg_buckets")

    _in_turn("engine", label)
