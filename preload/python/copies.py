# Purpose: tensors whose purpose shows in whom they are given to: what a gather fills, what is saved.
# Runs: inside the traced interpreter, before the first import of a framework.
"""See bootstrap.py for the rules, and for the names that are not defined here."""

_FREE, _PART = 5_000_000, 1000  # what labelling may take in all: so many ns, and this part of the time
_spent = [None, 0]  # since when, and how long it took
_gathered, _MOST = {}, 4096  # addresses, the latest last: when it is saved it is still what was gathered


def _within_means(label):
    """`label()`, if there is time: for a gather of a thousand parameters at once, or some of each step's."""
    began = clock()
    if _spent[0] is None:
        _spent[0] = began
    if _spent[1] > _FREE + (began - _spent[0]) // _PART or _is_watched(sys.modules["torch"]):
        return
    try:
        with sys.modules["torch"]._C.DisableTorchFunction():
            label()
    except Exception as error:
        _memtrace.note("python-roles=%r" % (error,))
    _spent[1] += clock() - began


# ---- gathers ---------------------------------------------------------------------------------------------------

# What is filled, by its place among the arguments and its name.
_FILLED = {
    "gather": (1, "gather_list"),
    "all_gather": (0, "tensor_list"),
    "all_gather_single": (0, "output_tensor"),
    "all_gather_into_tensor": (0, "output_tensor"),
    "_all_gather_base": (0, "output_tensor"),
}


def _gathering(call, place, name):
    @wraps(call)
    def wrapper(*args, **kwargs):
        if is_compiling():
            return call(*args, **kwargs)
        filled = args[place] if len(args) > place else kwargs.get(name)
        if filled is not None:
            _within_means(lambda: _label_gathered(filled))
        try:
            return call(*args, **kwargs)
        except BaseException as error:
            _without_us(error)
            raise

    return wrapper


def _is_of_parameters(address):
    """Looks again at a place that had a parameter: its memory may have been freed, and given to what a gather fills."""
    return address in _places and any(address == _address(parameter) for _, _, parameter, _ in _parameters())


def _label_gathered(filled):
    """Not what parameters lie in: after an update, ZeRO's first two stages gather into the model itself."""
    for tensor in filled if isinstance(filled, (list, tuple)) else (filled,):
        address = _address(tensor)
        if not _is_of_parameters(address):
            _label(tensor, "gathered", "")
            _gathered[address] = None
    while len(_gathered) > _MOST:
        del _gathered[next(iter(_gathered))]


def _gathers(module):
    for function, (place, name) in _FILLED.items():
        if hasattr(module, function):
            _replace(module, function, _gathering(getattr(module, function), place, name))


# ---- checkpoints -----------------------------------------------------------------------------------------------


def _tensors_in(thing, depth=4):
    """Of what is given to torch.save: the tensors of nested dicts and lists."""
    if isinstance(thing, sys.modules["torch"].Tensor):
        yield thing
    elif depth and isinstance(thing, (dict, list, tuple)):
        for part in list(thing.values()) if isinstance(thing, dict) else thing:
            yield from _tensors_in(part, depth - 1)


def _label_saved(thing):
    """Copies that were made to be saved: not what the model itself has, or a gather filled."""
    known = {_address(tensor) for tensor in _of_models()} | _gathered.keys()
    for tensor in _tensors_in(thing):
        if _address(tensor) not in known:
            _label(tensor, "checkpoint", "")
