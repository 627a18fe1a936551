# Purpose: what is labelled, how often, and that nothing of the program's is kept alive by it.
# In a Python with PyTorch under the probe.
import gc
import sys
import weakref

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import probe


def labels():
    """Role, name and bytes of each since the last call."""
    return [tuple(line.split(" ")[1:4]) for line in probe.log() if line.startswith("label ")]


def notes():
    return [line for line in probe.log() if line.startswith("note") and not line.startswith("note optimizer=")]


def train(model, optimizer, steps):
    for _ in range(steps):
        model(torch.zeros(3, 4)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def each_by_its_name():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    train(model, torch.optim.AdamW(model.parameters()), 1)
    got = labels()
    named = {name: str(4 * tensor.numel()) for name, tensor in model.named_parameters()}
    for name, size in named.items():
        assert ("parameter", name, size) in got and ("gradient", name, size) in got, (name, got)
    assert ("buffer", "1.running_mean", "16") in got, got
    states = [label for label in got if label[0] == "optimizer_state"]
    assert sorted(states) == sorted((("optimizer_state", key, size) for size in named.values()
                                     for key in ("exp_avg", "exp_avg_sq"))), states


def masters_are_no_parameters():
    model = nn.Linear(4, 4).bfloat16()
    masters = [nn.Parameter(parameter.detach().float()) for parameter in model.parameters()]
    optimizer = torch.optim.SGD(masters, lr=1)
    model(torch.zeros(3, 4, dtype=torch.bfloat16)).sum().backward()
    optimizer.step()
    assert {label for label in labels() if label[0] == "master"} == {("master", "", "16"), ("master", "", "64")}
    flat = nn.Parameter(torch.zeros(200))  # a partition in one piece, in the type of the model
    other = nn.Linear(4, 4)
    other(torch.zeros(3, 4)).sum().backward()
    torch.optim.SGD([flat], lr=1).step()
    assert ("master", "", "800") in labels()


def seldom_where_steps_are_short():
    model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(50)])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    train(model, optimizer, 3)
    labels()
    train(model, optimizer, 20)
    turns = sum(label[:2] == ("gradient", "0.weight") for label in labels())
    assert turns <= 3, turns  # each takes some 0.5 ms of a step of 5


def nothing_is_kept():
    model = nn.Linear(4, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    train(model, optimizer, 1)
    watched = [weakref.ref(thing) for thing in (model, model.weight, optimizer)]
    del model, optimizer
    gc.collect()
    assert [ref() for ref in watched] == [None] * 3


def no_storage_becomes_an_object():
    """Its memory would stay when the interpreter ends."""
    asked = []
    torch.Tensor.untyped_storage = lambda tensor: asked.append(tensor)
    try:
        model = nn.Linear(4, 4)
        train(model, torch.optim.AdamW(model.parameters()), 1)
    finally:
        del torch.Tensor.untyped_storage
    assert not asked and labels()


class Operations(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def a_mode_sees_no_operation_of_ours():
    def seen(steps):
        model = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=1)
        with Operations() as mode:
            train(model, optimizer, steps)
        return mode.seen

    assert seen(2) == seen(1) * 2


def gradients_that_have_no_memory():
    embedding = nn.Embedding(10, 4, sparse=True)
    embedding(torch.tensor([1, 2])).sum().backward()
    torch.optim.SparseAdam(list(embedding.parameters())).step()
    complaints = notes()
    assert complaints == [], complaints


class Params4bit(nn.Parameter):
    """As bitsandbytes', a class of its own: memtrace reads no attribute of a plain parameter."""


class QuantState:
    """With the attributes of bitsandbytes'."""

    def __init__(self, absmax, shape, state2=None):
        self.absmax, self.shape, self.state2, self.quant_type, self.code = absmax, shape, state2, "nf4", None

    def __getattr__(self, name):
        raise AssertionError("bitsandbytes computes here: " + name)


def packed_parameters_by_their_numbers():
    from torch.testing._internal.two_tensor import TwoTensor
    packed = Params4bit(torch.zeros(32, 1, dtype=torch.uint8), requires_grad=False)  # 64 numbers of four bits
    packed.quant_state = QuantState(torch.zeros(4, dtype=torch.uint8), torch.Size((8, 8)), QuantState(torch.zeros(2), None))
    model = nn.Linear(4, 4)
    model.packed = packed
    model.pair = nn.Parameter(TwoTensor(torch.zeros(5), torch.zeros(5)))
    probe.log()
    model(torch.zeros(1, 4))
    got = probe.log()
    assert notes_in(got) == [], got
    [counted] = [line.split() for line in got if line.startswith("parameters")]
    # The count, the trainable ones, the bytes.
    assert counted[1:4] == [str(64 + 5 + 20), str(5 + 20), str(32 + 4 + 8 + 2 * 20 + 80)], counted
    labelled = sorted(tuple(line.split(" ")[1:4]) for line in got if line.startswith("label "))
    expected = [("packed", 32), ("packed", 4), ("packed", 8), ("pair", 20), ("pair", 20), ("weight", 64), ("bias", 16)]
    assert labelled == sorted(("parameter", name, str(size)) for name, size in expected), labelled


def notes_in(log):
    return [line for line in log if line.startswith("note python")]


def main():
    for check in (each_by_its_name, masters_are_no_parameters, seldom_where_steps_are_short, nothing_is_kept, no_storage_becomes_an_object,
                  a_mode_sees_no_operation_of_ours, gradients_that_have_no_memory,
                  packed_parameters_by_their_numbers):
        probe.log()
        check()
        gc.collect()
        print("ok", check.__name__)


if __name__ == "__main__":
    sys.exit(main())
