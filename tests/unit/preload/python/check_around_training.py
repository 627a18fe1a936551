# Purpose: the marks of what surrounds a training loop: schedulers, checkpoints, threads, loaders, the user.
# In a Python with PyTorch under the probe.
import io
import os
import sys
import tempfile
import threading
import traceback
import warnings

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from check_training import load_from_construction_to_forward
import memtrace
import probe
from marks import STEP, check, expect, of_program, phases, run


def of_memtrace(error):
    """Returns the frames of memtrace in a traceback. Python 3.9 and 3.10 show them."""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return [file for file in files if "for memtrace" in file and sys.version_info >= (3, 11)]


class Unconstructed(nn.Module):
    def __init__(self):
        super().__init__(1, 2, foo=3)


@check
def no_frames_in_tracebacks():
    def fails(_):
        raise ValueError("forward")

    x = torch.zeros(2, requires_grad=True)
    for call in (Unconstructed, lambda: torch.save({"a": fails}, io.BytesIO()), lambda: checkpoint(fails, x, use_reentrant=True),
                 lambda: checkpoint(fails, x, use_reentrant=False)):
        try:
            call()
        except Exception as error:
            assert not of_memtrace(error), traceback.format_exc()
        else:
            raise AssertionError("no error")
    probe.clear()


class Talkative(nn.Module):
    """Its own methods are called by itself alone."""

    called = []

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def named_parameters(self, *args, **kwargs):
        self.called.append("named_parameters")
        return super().named_parameters(*args, **kwargs)

    def __getattr__(self, name):
        self.called.append(name)
        return super().__getattr__(name)

    def forward(self, x):
        return torch.nn.functional.linear(x, vars(self)["_modules"]["inner"].weight)


class Stateless(torch.optim.SGD):
    def step(self, closure=None):
        return "stepped"

    @property
    def state(self):
        raise RuntimeError("no state yet")

    @state.setter
    def state(self, value):
        pass


@check
def code_of_the_program_does_not_run():
    talkative = Talkative()
    Talkative.called.clear()
    talkative(torch.zeros(1, 2)).sum().backward()
    assert Talkative.called == [], Talkative.called
    assert [line for line in probe.log() if line.startswith("parameters")], "it is counted"
    assert Stateless(talkative.inner.parameters(), lr=0.1).step() == "stepped"
    probe.clear()


@check
def schedulers_see_the_step():
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        optimizer.step()
        scheduler.step()
        assert not caught, [str(one.message) for one in caught]
        again = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
        torch.optim.lr_scheduler.StepLR(again, 1).step()
    assert len(caught) == 1 and caught[0].filename == __file__, caught
    expect(*STEP)


@check
def step_hooks_and_subclasses():
    seen = []

    class Mine(torch.optim.SGD):
        def step(self, closure=None):
            seen.append("step")
            return super().step(closure)

    optimizer = Mine([nn.Parameter(torch.zeros(1))], lr=0.1)
    optimizer.register_step_post_hook(lambda *_: seen.append("post"))
    optimizer.step()
    expect(*STEP)
    assert seen.count("step") == 1 and "post" in seen, seen


@check
def save_and_load():
    model = nn.Linear(2, 2)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pt")
        torch.save(model.state_dict(), path)
        expect("save(", ")save")
        state = torch.load(path)
        expect("load(", ")load")
        model.load_state_dict(state)
        expect("load(", ")load")
        try:
            torch.load(os.path.join(folder, "none.pt"))
        except FileNotFoundError as error:
            assert sys.version_info < (3, 11) or "importlib" not in str(traceback.extract_tb(error.__traceback__))
        expect("load(", ")load")
    optimizer = torch.optim.SGD(model.parameters(), lr=1)
    optimizer.load_state_dict(optimizer.state_dict())
    expect("load(", ")load")
    assert torch.load is torch.serialization.load and torch.save is torch.serialization.save


@check
def threads():
    model = nn.Linear(2, 2)
    failures = []

    def run():
        try:
            for _ in range(20):
                model(torch.zeros(1, 2)).sum().backward()
                assert probe.depth() == 0
        except BaseException as error:
            failures.append(error)

    many = [threading.Thread(target=run) for _ in range(3)]
    [thread.start() for thread in many]
    [thread.join() for thread in many]
    assert not failures, failures
    got = phases()
    assert got.count("forward(") == got.count(")forward") == got.count("backward(") == 60, got


@check
def first_module_inside_a_load():
    """In processes of their own, for `load` by construction comes once."""
    for program, wanted in (
        # The program's own mark, which only it ends.
        (
            "with memtrace.phase('load'):\n  model = nn.Linear(2, 2)\n  model(torch.zeros(1, 2))\n",
            ["begin load", "end load", "begin forward", "end forward"],
        ),
        # An explicit load that constructs: `load` goes on to the first forward.
        (
            "class Loads:\n  def __reduce__(self): return nn.Linear, (2, 2)\n"
            "import io\nfile = io.BytesIO()\ntorch.save(Loads(), file)\nfile.seek(0)\n"
            "model = torch.load(file, weights_only=False)\nmemtrace.step(5)\n",
            ["begin save", "end save", "begin load", "step 5", "end load", "begin forward", "end forward"],
        ),
    ):
        got = of_program(program + "model(torch.zeros(1, 2))")
        assert got == wanted, (wanted, got)


class Data(torch.utils.data.Dataset):
    def __init__(self):
        self.transform = nn.Sequential(nn.Identity())

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.transform(torch.full((2,), float(index)))


@check
def loaders():
    assert [batch.shape[0] for batch in torch.utils.data.DataLoader(Data(), batch_size=2)] == [2, 2]
    # A transform that is a module is part of data, not a forward.
    expect(*["data(", ")data"] * 3)
    for context in ("fork", "spawn"):
        with tempfile.NamedTemporaryFile() as file:
            os.environ["PROBE_LOG"] = file.name
            loader = torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=2, multiprocessing_context=context)
            assert sorted(float(batch.sum()) for batch in loader) == [2.0, 10.0]
            del os.environ["PROBE_LOG"]
            expect(*["data(", ")data"] * 3)
            lines = file.read().decode().splitlines()
            assert lines.count("begin data") == 3 + 2 and "begin forward" not in lines, (context, lines)
            assert [line for line in lines if line.startswith("note kind")] == ["note kind=worker"] * 2, lines
            assert sum(line.startswith("note python-library=") for line in lines) >= 2, lines


@check
def user_marks():
    model = nn.Linear(2, 2)
    with memtrace.phase("validation"), torch.no_grad():
        model(torch.zeros(1, 2))
    expect("validation(", "eval grad_off(", ")eval", ")validation")

    @memtrace.phase("augment")
    def augment(x):
        return x + 1

    assert augment(1) == 2 and augment.__name__ == "augment"
    expect("augment(", ")augment")

    class Marked(nn.Module):
        def forward(self, x):
            with memtrace.phase("attention"):
                return model(x)

    Marked().eval()(torch.zeros(1, 2))
    expect("forward(", "attention(", ")attention", ")forward")
    memtrace.step(7)
    expect("step 7", keep=("step",))
    with memtrace.phase("load"):
        model(torch.zeros(1, 2))
    expect("load(", ")load")


@check
def what_the_program_sees():
    import inspect
    import pickle

    assert inspect.getsource(nn.Module.__call__).lstrip().startswith("def _wrapped_call_impl")
    assert str(inspect.signature(torch.load)).startswith("(f:")
    assert pickle.loads(pickle.dumps(torch.load)) is torch.load
    assert type(torch.__spec__.loader).__name__ == "SourceFileLoader" and torch.__loader__ is torch.__spec__.loader
    assert "exec_module" not in vars(torch.__loader__)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        class Warns(nn.Module):
            def forward(self):
                warnings.warn("here", stacklevel=3)  # above _call_impl and _wrapped_call_impl: who called us

        Warns()()
    assert [one.filename for one in caught] == [nn.modules.module.__file__], caught
    frames = probe.chain()
    assert frames and not [frame for frame in frames if b"memtrace" in frame[1] and b"<" in frame[1]]

    class Looks(nn.Module):
        def forward(self):
            return probe.chain()

    hidden = [frame for frame in Looks()() if b"importlib._bootstrap" in frame[1]]
    assert not hidden, hidden
    left, right = nn.Linear(2, 2).eval(), nn.Linear(2, 2)
    left(torch.zeros(1, 2))
    torch.utils.swap_tensors(left.weight, right.weight)
    phases()


if __name__ == "__main__":
    load_from_construction_to_forward()  # `load` occurs once in a process
    run()
