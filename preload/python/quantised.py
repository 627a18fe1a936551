# Purpose: the numbers that a quantised parameter stands for, and the tensors that hold them packed.
# Runs: inside the traced interpreter, before the first import of a framework.
"""See bootstrap.py for the rules, and for the names that are not defined here. Nothing is unpacked: that would allocate."""

_STATE = ("absmax", "code", "offset")  # of bitsandbytes' QuantState, beside the packed numbers
_HELD = ("CB", "SCB")  # of its 8-bit layers
_PACKED = ("torch.ao.nn.quantized.", "torch.ao.nn.intrinsic.quantized.")


# To read `__dict__` of a plain tensor would make that dictionary. It is an object of Python's collector, which would
# then begin earlier than without memtrace. So the attributes of plain tensors are not looked at.
def _is_plain(tensor):
    torch = sys.modules["torch"]
    return type(tensor) is torch.nn.Parameter or type(tensor) is torch.Tensor


def _parts_of(tensor, depth=3):
    """Yields the tensors that have the memory of this one: itself, or those that a class packs it into (torchao).
    Yields the scales beside it, too (bitsandbytes)."""
    here = _here(tensor)
    inner = () if _is_plain(here) or not depth else _inner_tensors(here)
    for part in inner:
        yield from _parts_of(part, depth - 1)
    if inner:
        return
    yield here
    if not _is_plain(here):
        yield from _scales_in(getattr(here, "__dict__", {}))


def _inner_tensors(tensor):
    """Returns the tensors that a class of tensors is made of, by the protocol of torch.compile."""
    flatten = getattr(type(tensor), "__tensor_flatten__", None)
    try:
        return [] if flatten is None else [getattr(tensor, name) for name in flatten(tensor)[0]]
    except Exception:  # a class of the program's
        return []


def _scales_in(held):
    """Yields the tensors among the attributes of a parameter, or among those of a layer's state, of bitsandbytes."""
    found = [held.get(name) for name in _HELD]
    state = held.get("quant_state")
    for _ in range(2):  # the scales may be quantised in their turn
        values = getattr(state, "__dict__", {})
        found += [values.get(name) for name in _STATE]
        state = values.get("state2")
    return [one for one in found if hasattr(one, "untyped_storage")]


def _as_packed(parameter):
    """Returns the numbers that a parameter stands for, the bytes that it takes, and the name of the type that it has."""
    here = _here(parameter)
    if _is_plain(here):
        return here.numel(), here.numel() * here.element_size(), str(here.dtype).replace("torch.", "")
    sizes, largest = {}, None
    for part in _parts_of(parameter):  # CB is the parameter itself, too
        size = part.numel() * part.element_size()
        sizes[_address(part) or id(part)] = size
        largest = part if largest is None or size > largest.numel() * largest.element_size() else largest
    numbers, dtype = here.numel(), str(largest.dtype).replace("torch.", "")
    state = getattr(here.__dict__.get("quant_state"), "__dict__", None)
    if state and state.get("shape") is not None:  # two numbers of four bits are one of the tensor's
        numbers = _product(state["shape"])
        dtype = str(state.get("quant_type") or dtype)
    return numbers, sum(sizes.values()), dtype


def _product(numbers):
    out = 1
    for number in numbers:
        out *= int(number)
    return out


def _packed_layers(modules):
    """Yields the numbers, bytes and type of each weight that torch.ao packed for its kernels. It is not a tensor any more.
    A bias is packed with it, and not counted: to read its size, PyTorch would unpack both."""
    left, seen = modules if "torch.ao.nn.quantized.modules" in sys.modules else [], set()
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        held = vars(one)
        left.extend(held.get("_modules", {}).values())
        if not type(one).__module__.startswith(_PACKED):
            continue
        if "in_features" in held:
            numbers = held["in_features"] * held["out_features"]
        elif "kernel_size" in held and "groups" in held:
            numbers = held["out_channels"] * held["in_channels"] // held["groups"] * _product(held["kernel_size"])
        elif "num_embeddings" in held:
            numbers = held["num_embeddings"] * held["embedding_dim"]
        else:
            continue
        dtype = _packed_type(held)
        yield numbers, numbers * {"float16": 2}.get(dtype, 1), dtype


def _packed_type(held):
    packed = held.get("_modules", {}).get("_packed_params")
    return str(getattr(packed, "dtype", None) or "qint8").replace("torch.", "")
