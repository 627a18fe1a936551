# Purpose: which phases real training loops mark, in which order, and that they balance.
# In a Python with PyTorch under the probe.
import os
import sys
import tempfile
import threading
import traceback

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import memtrace
import probe
from marks import BACKWARD, FORWARD, LOSS, STEP, ZERO_GRAD, check, expect, of_program, phases, run


@check
def load_from_construction_to_forward():
    import_of_a_module_that_constructs()
    expect()
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    expect("load(")
    nn.Linear(1, 1)
    torch.optim.SGD(model.parameters(), lr=0.1)
    expect()
    assert "wrapper" not in repr(nn.Module.__init__) and not hasattr(nn.Module.__init__, "__wrapped__")
    model(torch.zeros(1, 4))
    expect(")load", "parameters 30 30 120 4", "dtype float32 30", *FORWARD, "loss(", keep=("parameters", "dtype"))
    model.eval()(torch.zeros(1, 4))
    expect(")loss", *FORWARD, keep=("parameters",))


def import_of_a_module_that_constructs():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "has_a_layer.py"), "w") as file:
            file.write("from torch import nn\nlayer = nn.Linear(2, 2)\n")
        sys.path.insert(0, folder)
        import has_a_layer  # noqa: F401

        sys.path.remove(folder)


@check
def plain_loop():
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = torch.optim.AdamW(model.parameters())
    loss_of = nn.CrossEntropyLoss()
    for _ in range(2):
        loss = loss_of(model(torch.zeros(3, 4)), torch.zeros(3, dtype=torch.long))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        expect(*FORWARD, *LOSS, *BACKWARD, *STEP, *ZERO_GRAD)


@check
def accumulation():
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model(torch.zeros(3, 4)).sum().backward()
    optimizer.step()
    expect(*(FORWARD + LOSS + BACKWARD) * 3, *STEP)


@check
def loss():
    """It lasts from the end of a forward in training to the next phase that memtrace detects, except `eval`."""
    model, teacher, criterion = nn.Linear(2, 2), nn.Linear(2, 2), nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    y = model(torch.zeros(1, 2))
    with torch.no_grad():
        target = teacher(torch.zeros(1, 2))
    loss = criterion(y, target)
    optimizer.zero_grad()
    loss.backward()
    expect(*FORWARD, "loss(", "eval grad_off(", ")eval", ")loss", *ZERO_GRAD, *BACKWARD)
    # A phase of the user may be inside it.
    y = model(torch.zeros(1, 2))
    with memtrace.phase("criterion"):
        loss = criterion(y, target)
    loss.backward()
    expect(*FORWARD, "loss(", "criterion(", ")criterion", ")loss", *BACKWARD)
    # Evaluation with gradients has no loss.
    model.eval()(torch.zeros(1, 2))
    model.train()
    expect(*FORWARD)
    # Each of two models in a row has its own loss.
    model(model(torch.zeros(1, 2))).sum().backward()
    expect(*(FORWARD + LOSS) * 2, *BACKWARD)
    model.zero_grad()
    expect(*ZERO_GRAD)
    # The user's own phases may have the names.
    with memtrace.phase("loss"):
        loss = criterion(model(torch.zeros(1, 2)), target)
    with memtrace.phase("backward"):
        loss.backward()
    expect("loss(", *FORWARD, ")loss", "backward(", ")backward")


@check
def loss_of_threads():
    """A thread has a loss of its own once it has run backward: the threads of DataParallel only run a forward."""
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.zeros(1, 2))

    def other():
        for _ in range(2):
            model(torch.zeros(1, 2)).sum().backward()

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    expect(*FORWARD, "loss(", *FORWARD, *BACKWARD, *FORWARD, *LOSS, *BACKWARD)
    optimizer.zero_grad()
    expect(")loss", *ZERO_GRAD)


class Returns(nn.Module):
    """Has methods and attributes of the program's own."""

    training = property(lambda self: 1 / 0, lambda self, _: None)

    def parameters(self, recurse=True):
        raise ValueError("no parameters")

    def forward(self, x):
        return x


@check
def loss_of_odd_modules():
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    y = Returns()(model(torch.zeros(1, 2)))
    frozen = torch.jit.freeze(torch.jit.script(nn.Sequential(nn.Linear(2, 2))).eval())
    frozen(y).sum().backward()
    got = phases()
    assert got[:3] == [*FORWARD, "loss("] and got[-2:] == BACKWARD and probe.depth() == 0, got
    # A closure may return before it calls backward.
    optimizer.step(lambda: model(torch.zeros(1, 2)).sum())
    expect("step closure(", *FORWARD, *LOSS, ")step")


@check
def no_loss_before_training():
    """In a process of its own: a forward before an optimizer or backward may be inference."""
    got = of_program(
        "model = nn.Linear(2, 2)\nmodel(torch.zeros(1, 2))\nmodel(torch.zeros(1, 2)).sum().backward()\n"
        "model(torch.zeros(1, 2)).sum().backward()"
    )
    forward, backward = ["begin forward", "end forward"], ["begin backward", "end backward"]
    loss = ["begin loss", "end loss"]
    assert got == ["begin load", "end load", *forward * 2, *backward, *forward, *loss, *backward], got


@check
def parameters_once_each():
    shared = nn.Linear(4, 4, bias=False)
    frozen = nn.Linear(2, 2).half().requires_grad_(False)
    model = nn.ModuleList([shared, shared, frozen])
    model.forward = lambda: None
    base = dict_of_parameters(model)
    # The 30 parameters of other models that may still be alive are not ours: count what came in addition.
    assert base[0] >= 22 and base[1] >= 16, base
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(5, dtype=torch.bfloat16))] + list(shared.parameters()), lr=1)
    probe.clear()
    optimizer.step()
    lines = [line for line in phases(("parameters", "dtype")) if line.startswith("dtype bfloat16")]
    assert lines == ["dtype bfloat16 5"], lines
    optimizer.step()
    expect(*STEP, keep=("parameters",))
    lazy = nn.LazyLinear(3).eval()
    lazy(torch.zeros(2, 2))
    phases()


def dict_of_parameters(model):
    probe.clear()
    model()
    lines = [line for line in phases(("parameters",)) if line.startswith("parameters")]
    return [int(word) for word in lines[-1].split()[1:]]


class Failing(nn.Module):
    def __init__(self, where):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(2, 2))
        self.where = where

    def forward(self, x):
        y = self.inner(x)
        if self.where == "forward":
            raise ValueError("forward")
        if self.where == "backward":
            y.register_hook(self.fail)
        return y

    def fail(self, _):
        raise ValueError("backward")


@check
def exceptions():
    try:
        nn.Sequential(Failing("forward"))(torch.zeros(1, 2))
    except ValueError as error:
        if sys.version_info >= (3, 11):
            files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
            assert not [file for file in files if "for memtrace" in file], files
            assert len(files) == 7, files
        text = "".join(traceback.format_exception(error))
        assert text.rstrip().endswith("ValueError: forward") and "During handling" not in text, text
    expect(*FORWARD)
    try:
        Failing("backward")(torch.zeros(1, 2)).sum().backward()
    except ValueError:
        pass
    expect(*FORWARD, *LOSS, *BACKWARD)

    class Broken(torch.optim.SGD):
        def step(self, closure=None):
            raise ValueError("step")

    try:
        Broken([nn.Parameter(torch.zeros(1))], lr=1).step()
    except ValueError:
        pass
    expect(*STEP)
    with torch.no_grad():
        try:
            nn.Linear(2, 2)(torch.zeros(1, 3))
        except RuntimeError:
            pass
    expect("eval grad_off(", ")eval")


@check
def evaluation():
    model = nn.Linear(2, 2)
    with torch.no_grad():
        model(torch.zeros(1, 2))
    with torch.inference_mode():
        model(torch.zeros(1, 2))
    expect(*["eval grad_off(", ")eval"] * 2)
    model.eval()(torch.zeros(1, 2))
    expect(*FORWARD)


@check
def recompute():
    layers = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    for reentrant in (False, True):
        x = torch.zeros(2, 4, requires_grad=True)
        checkpoint(layers, x, use_reentrant=reentrant).sum().backward()
        got = phases()
        # The reentrant kind turns gradients off: outside a model's forward it looks like evaluation.
        first = ["eval grad_off(", ")eval"] if reentrant else FORWARD + LOSS
        assert got[: len(first)] == first and got[len(first)] == "backward(" and got[-1] == ")backward", got
        assert got[len(first) + 1 :][:2] == ["recompute(", ")recompute"], got
        assert got.count("recompute(") == 1 and probe.depth() == 0, got

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = layers

        def forward(self, x):
            return checkpoint(self.layers, x, use_reentrant=False)

    Model()(torch.zeros(2, 4, requires_grad=True)).sum().backward()
    expect(*FORWARD, *LOSS, "backward(", "recompute(", ")recompute", ")backward")


@check
def recompute_of_functions():
    """In which no module shows: its checkpoint tells."""
    for reentrant in (False, True):
        x = torch.ones(2, 4, requires_grad=True)
        checkpoint(lambda x: (x * 2).sin().cos(), x, use_reentrant=reentrant).sum().backward()
        expect("backward(", "recompute(", ")recompute", ")backward")

        def fails(x):
            if torch._C._current_graph_task_id() != -1:
                raise ValueError("again")
            return x.sin()

        try:
            checkpoint(fails, x, use_reentrant=reentrant).sum().backward()
        except ValueError as error:
            files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
            assert sys.version_info < (3, 11) or not [file for file in files if "for memtrace" in file], files
        else:
            raise AssertionError("no error")
        expect("backward(", "recompute(", ")recompute", ")backward")


@check
def closures():
    model = nn.Linear(2, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = model(torch.ones(1, 2)).pow(2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    got = phases()
    inner = got[1:-1]
    once = ZERO_GRAD + FORWARD + LOSS + BACKWARD
    assert got[0] == "step closure(" and got[-1] == ")step" and inner, got
    assert inner == once * (len(inner) // len(once)), got


@check
def gradients_inside_forward():
    class Penalty(nn.Module):
        def forward(self, x):
            return torch.autograd.grad(x.pow(2).sum(), x, create_graph=True)[0]

    Penalty()(torch.ones(2, requires_grad=True)).sum().backward()
    expect("forward(", "backward(", ")backward", ")forward", *LOSS, *BACKWARD)


@check
def scaler():
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    for factor, end in ((1.0, ")step"), (float("inf"), ")step skipped")):
        optimizer.zero_grad()
        loss = model(torch.ones(1, 2)).sum() * factor
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        expect(*ZERO_GRAD, *FORWARD, *LOSS, *BACKWARD, "step(", end)
    off = torch.amp.GradScaler("cpu", enabled=False)
    off.step(optimizer)
    expect(*STEP)


if __name__ == "__main__":
    run()
