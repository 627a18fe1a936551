# Purpose: which phases real training loops mark, in which order, and that they balance.
# In a Python with PyTorch under the probe.
import os
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import memtrace
import probe


def phases(keep=()):
    """The marks since the last call: "forward(" and ")forward"; parameters and notes only where asked for."""
    out = []
    for line in probe.log():
        word, _, rest = line.partition(" ")
        if word == "begin":
            out.append(rest + "(")
        elif word == "end":
            out.append(")" + rest)
        elif word in keep or word in ("unbalanced", "note") and not rest.startswith("optimizer="):
            out.append(line)
    return out


def expect(*wanted, keep=()):
    got = phases(keep)
    assert got == list(wanted), "\n got %s\nwant %s" % (got, list(wanted))


FORWARD = ["forward(", ")forward"]
BACKWARD = ["backward(", ")backward"]
STEP = ["step(", ")step"]


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
    expect(")load", "parameters 30 30 120 4", "dtype float32 30", *FORWARD, keep=("parameters", "dtype"))
    model(torch.zeros(1, 4))
    expect(*FORWARD, keep=("parameters",))


def import_of_a_module_that_constructs():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "has_a_layer.py"), "w") as file:
            file.write("from torch import nn\nlayer = nn.Linear(2, 2)\n")
        sys.path.insert(0, folder)
        import has_a_layer  # noqa: F401

        sys.path.remove(folder)


def plain_loop():
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = torch.optim.AdamW(model.parameters())
    loss_of = nn.CrossEntropyLoss()
    for _ in range(2):
        loss = loss_of(model(torch.zeros(3, 4)), torch.zeros(3, dtype=torch.long))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        expect(*FORWARD, *FORWARD, *BACKWARD, *STEP)


def accumulation():
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model(torch.zeros(3, 4)).sum().backward()
    optimizer.step()
    expect(*(FORWARD + BACKWARD) * 3, *STEP)


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
    lazy = nn.LazyLinear(3)
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


def exceptions():
    try:
        nn.Sequential(Failing("forward"))(torch.zeros(1, 2))
    except ValueError as error:
        if sys.version_info >= (3, 11):
            files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
            assert not [file for file in files if "memtrace importlib" in file], files
            assert len(files) == 7, files
        text = "".join(traceback.format_exception(error))
        assert text.rstrip().endswith("ValueError: forward") and "During handling" not in text, text
    expect(*FORWARD)
    try:
        Failing("backward")(torch.zeros(1, 2)).sum().backward()
    except ValueError:
        pass
    expect(*FORWARD, *BACKWARD)

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


def evaluation():
    model = nn.Linear(2, 2)
    with torch.no_grad():
        model(torch.zeros(1, 2))
    with torch.inference_mode():
        model(torch.zeros(1, 2))
    expect(*["eval grad_off(", ")eval"] * 2)
    model.eval()(torch.zeros(1, 2))
    expect(*FORWARD)


def recompute():
    layers = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    for reentrant in (False, True):
        x = torch.zeros(2, 4, requires_grad=True)
        checkpoint(layers, x, use_reentrant=reentrant).sum().backward()
        got = phases()
        # The reentrant kind turns gradients off: outside a model's forward it looks like evaluation.
        first = ["eval grad_off(", ")eval"] if reentrant else FORWARD
        assert got[:2] == first and got[2] == "backward(" and got[-1] == ")backward", got
        assert got[3:5] == ["recompute(", ")recompute"], got
        assert got.count("recompute(") == 1 and probe.depth() == 0, got

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = layers

        def forward(self, x):
            return checkpoint(self.layers, x, use_reentrant=False)

    Model()(torch.zeros(2, 4, requires_grad=True)).sum().backward()
    expect("forward(", ")forward", "backward(", "recompute(", ")recompute", ")backward")


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
            assert sys.version_info < (3, 11) or not [file for file in files if "memtrace importlib" in file], files
        else:
            raise AssertionError("no error")
        expect("backward(", "recompute(", ")recompute", ")backward")


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
    assert got[0] == "step closure(" and got[-1] == ")step" and inner[:4] == FORWARD + BACKWARD, got
    assert inner == (FORWARD + BACKWARD) * (len(inner) // 4), got


def gradients_inside_forward():
    class Penalty(nn.Module):
        def forward(self, x):
            return torch.autograd.grad(x.pow(2).sum(), x, create_graph=True)[0]

    Penalty()(torch.ones(2, requires_grad=True)).sum().backward()
    expect("forward(", "backward(", ")backward", ")forward", *BACKWARD)


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
        expect(*FORWARD, *BACKWARD, "step(", end)
    off = torch.amp.GradScaler("cpu", enabled=False)
    off.step(optimizer)
    expect(*STEP)


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


def first_module_inside_a_load():
    """In processes of their own, for `load` by construction comes once."""
    start = "import memtrace, probe, torch\nfrom torch import nn\n"
    end = "model(torch.zeros(1, 2))\nprint([l for l in probe.log() if l[0] in 'beus'])"
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
        here = os.path.dirname(os.path.abspath(__file__))
        command = [sys.executable, "-c", start + program + end]
        done = subprocess.run(command, capture_output=True, text=True, cwd=here)
        assert done.stdout == str(wanted) + "\n", (wanted, done.stdout, done.stderr)


class Data(torch.utils.data.Dataset):
    def __init__(self):
        self.transform = nn.Sequential(nn.Identity())

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.transform(torch.full((2,), float(index)))


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
            assert [line for line in lines if line.startswith("note")] == ["note kind=worker"] * 2, lines


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

    Marked()(torch.zeros(1, 2))
    expect("forward(", "attention(", ")attention", ")forward")
    memtrace.step(7)
    expect("step 7", keep=("step",))
    with memtrace.phase("load"):
        model(torch.zeros(1, 2))
    expect("load(", ")load")


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
    left, right = nn.Linear(2, 2), nn.Linear(2, 2)
    left(torch.zeros(1, 2))
    torch.utils.swap_tensors(left.weight, right.weight)
    phases()


def main():
    assert probe.log() == [], "importing marks something"
    for check in (
        load_from_construction_to_forward,
        plain_loop,
        accumulation,
        parameters_once_each,
        exceptions,
        evaluation,
        recompute,
        recompute_of_functions,
        closures,
        gradients_inside_forward,
        scaler,
        schedulers_see_the_step,
        step_hooks_and_subclasses,
        save_and_load,
        threads,
        first_module_inside_a_load,
        loaders,
        user_marks,
        what_the_program_sees,
    ):
        probe.clear()
        check()
        assert probe.depth() == 0, (check.__name__, probe.depth())
        print("ok", check.__name__)


if __name__ == "__main__":
    sys.exit(main())
