# Purpose: which path each module has: equal layers, wrappers, several models, models that change.
# In a Python with PyTorch under the probe.
import gc
import sys

import torch
from torch import nn

import probe


def named():
    """The paths of the last naming, by id: "layers.*@3" where the real index is 3."""
    paths = {}
    for line in probe.log():
        if line == "modules":
            paths = {}
        elif line.startswith("module "):
            _, number, path = line.split(" ", 2)
            paths[int(number)] = path.replace("\x1f", "@")
    return paths


class Layer(nn.Module):
    def __init__(self, width=4, norm=False):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        if norm:
            self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.mlp(x)


class Model(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def call(model):
    model(torch.zeros(3, 4)).sum().backward()
    return named()


def equal_layers_share_a_path():
    model = Model(Layer(), Layer(), Layer())
    got = call(model)
    assert got[id(model)] == "Model" and got[id(model.head)] == "head", got
    for i, layer in enumerate(model.layers):
        assert got[id(layer)] == "layers.*@%d" % i, got
        assert got[id(layer.mlp[0])] == "layers.*.mlp.0@%d" % i, got  # its neighbour is not a Linear
        assert got[id(layer.mlp[2])] == "layers.*.mlp.2@%d" % i, got


def layers_that_differ_do_not():
    model = Model(Layer(), Layer(), Layer(norm=True), Layer())
    got = call(model)
    assert [got[id(layer)] for layer in model.layers] == ["layers.0-1@0", "layers.0-1@1", "layers.2", "layers.3"], got
    other_shapes = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 4))
    got = call(other_shapes)
    assert [got[id(part)] for part in other_shapes] == ["Sequential.0", "Sequential.1"], got


def lists_in_lists():
    model = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)) for _ in range(2)])
    got = call(model)
    assert got[id(model[1][0])] == "*.*@1.0", got


def wrappers_add_nothing():
    model = Model(Layer(), Layer())
    wrapped = nn.DataParallel(model)
    got = call(wrapped)
    assert got[id(model.layers[1])] == "layers.*@1" and got[id(wrapped)] == got[id(model)] == "Model", got
    del model, wrapped
    gc.collect()
    model = Model(Layer(), Layer())
    compiled = torch.compile(model, backend="eager")
    got = call(compiled)
    assert got[id(model.layers[1])] == "layers.*@1" and got[id(compiled)] == "Model", got


def a_second_model_has_its_name_before():
    first, second = Model(Layer(), Layer()), nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    call(first)
    got = call(second)
    assert got[id(first.head)] == "head" and got[id(second[0])] == "Sequential.0", got
    third = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    got = call(third)
    assert got[id(third)] == "Sequential-2" and got[id(third[0])] == "Sequential-2.0", got


def a_part_is_named_as_a_part():
    model = Model(Layer(), Layer())
    call(model.layers[0])  # it looks like a model until the whole one is called
    got = call(model)
    assert got[id(model.layers[0])] == "layers.*@0" and got[id(model.head)] == "head", got


def models_that_change_are_named_anew():
    model = Model(Layer(), Layer())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    call(model)
    model.head = nn.Sequential(nn.Linear(4, 1), nn.Tanh())
    assert id(model.head[0]) not in named()
    model(torch.zeros(3, 4)).sum().backward()
    optimizer.step()
    got = named()
    assert got[id(model.head[0])] == "head.0", got


def dead_models_have_no_names():
    model = Model(Layer(), Layer())
    call(model)
    dead = {id(part) for part in model.modules()}
    del model
    gc.collect()
    other = nn.Linear(4, 4)
    assert not (dead - {id(other)}) & call(other).keys()


def circles_and_shared_parts():
    shared = nn.Linear(4, 4)
    model = nn.Sequential(shared, nn.ReLU(), shared)
    model[1].__dict__["_modules"]["up"] = model
    got = call(model)
    assert got == {id(model): "Sequential", id(shared): "0", id(model[1]): "1"}, got
    del model[1]._modules["up"]


def module_that_runs():
    """The module frames on the stack: the objects themselves, innermost first."""
    seen = []

    class Inner(nn.Module):
        def forward(self, x):
            seen.append(probe.modules())
            return x

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            seen.append(probe.modules())
            return self.inner(x)

    model = Outer()
    model(torch.zeros(1))
    assert seen == [[id(model)], [id(model.inner), id(model)]], (seen, id(model), id(model.inner))
    assert probe.modules() == []


def main():
    for check in (equal_layers_share_a_path, layers_that_differ_do_not, lists_in_lists, wrappers_add_nothing,
                  a_second_model_has_its_name_before, a_part_is_named_as_a_part, models_that_change_are_named_anew,
                  dead_models_have_no_names, circles_and_shared_parts, module_that_runs):
        gc.collect()
        probe.log()
        check()
        gc.collect()
        assert not [line for line in probe.log() if line.startswith("note python-")], check.__name__
        print("ok", check.__name__)


if __name__ == "__main__":
    sys.exit(main())
