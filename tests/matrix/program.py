"""Purpose: a training run whose phases, bytes and lines are known; it prints what PyTorch and CPython say of them.

usage: program.py [--truth FILE | --die]
  --truth FILE  run under PyTorch's profiler, and write the level of tensor bytes in each phase to FILE
  --die         end by SIGKILL in step 2, after the loss is computed
Runs on CPython 3.9 and PyTorch 2.6, and on all later versions. A comment "LINE: name" marks a line that checks.py names.
"""
import contextlib
import gc
import io
import json
import os
import signal
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

STEPS, BATCH, WIDTH, INNER = 4, 64, 512, 1536
MIB = 1 << 20


class Marks:
    """Marks phases for PyTorch's profiler, if one runs."""

    def __init__(self, profiled):
        self.profiled = profiled

    def __call__(self, name):
        return torch.profiler.record_function("phase:" + name) if self.profiled else contextlib.nullcontext()


class Model(nn.Module):
    def __init__(self, mark):
        super().__init__()
        self.mark, self.in_backward = mark, False
        self.first, self.middle, self.last = nn.Linear(WIDTH, INNER), nn.Linear(INNER, INNER), nn.Linear(INNER, WIDTH)
        self.register_buffer("scale", torch.full((INNER,), 0.5))

    def part(self, x):
        with self.mark("recompute") if self.in_backward else contextlib.nullcontext():
            return torch.tanh(self.middle(torch.relu(x)))

    def forward(self, x):
        x = self.first(x) * self.scale
        return self.last(checkpoint(self.part, x, use_reentrant=False))


def bytes_of(tensors):
    return sum(tensor.untyped_storage().nbytes() for tensor in tensors)


def roles(model, optimizer):
    states = [value for state in optimizer.state.values() for value in state.values()]
    return {"parameter": bytes_of(model.parameters()), "buffer": bytes_of(model.buffers()),
            "gradient": bytes_of(p.grad for p in model.parameters()),
            "optimizer_state": bytes_of(value for value in states if value.dim() > 0),
            "counts of steps": bytes_of(value for value in states if value.dim() == 0)}


def train(mark, die):
    loading = contextlib.ExitStack()
    loading.enter_context(mark("load"))
    model = Model(mark)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    examples = torch.randn(STEPS * BATCH, WIDTH)
    batches = iter(DataLoader(TensorDataset(examples, torch.tanh(examples)), batch_size=BATCH))
    said = {}
    for step in range(STEPS):
        with mark("data"):
            x, wanted = next(batches)
        loading.close()
        with mark("forward"):
            out = model(x)  # LINE: forward
        with mark("loss"):
            loss = nn.functional.mse_loss(out, wanted)  # LINE: loss
        if die and step == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        model.in_backward = True
        with mark("backward"):
            loss.backward()
        model.in_backward = False
        with mark("step"):
            optimizer.step()  # LINE: update
        said = roles(model, optimizer)
        with mark("zero_grad"):
            optimizer.zero_grad()
        del out, loss
    with mark("eval"), torch.no_grad():
        model(x)
    with mark("save"):
        torch.save(model.state_dict(), io.BytesIO())
    return said


# ---- chains of frames ------------------------------------------------------------------------------------------

kept = []  # pairs of a chain and a block


def chain(frame):
    """Returns file, function and line of all frames, innermost first. Before 3.11, code has no qualified name."""
    found = []
    while frame is not None:
        code = frame.f_code
        found.append([code.co_filename, getattr(code, "co_qualname", code.co_name), frame.f_lineno])
        frame = frame.f_back
    return found


def hold(size):
    kept.append((chain(sys._getframe()), bytearray(size)))


def numbers(sizes):
    for size in sizes:
        hold(size)
        yield size


async def waits(size):
    hold(size)


class Shapes:
    held = property(lambda self: hold(2 * MIB + 4096))

    @classmethod
    def of_class(cls, size):
        hold(
            size)

    @staticmethod
    def from_except(size):
        try:
            raise ValueError
        except ValueError:
            hold(size)

    def __enter__(self):
        hold(2 * MIB + 2 * 4096)
        return self

    def __exit__(self, *_):
        hold(2 * MIB + 3 * 4096)

    def __lt__(self, other):
        hold(2 * MIB + 4 * 4096)
        return False


def deep(depth, size):
    if depth:
        deep(depth - 1, size)
    else:
        hold(size)


def frames():
    """Holds blocks of different sizes, each below another kind of frame."""
    ballast = bytes(512 * MIB)  # so that the peak is here; its pages stay untouched
    sizes = iter(range(3 * MIB, 4 * MIB, 4096))
    [hold(size) for size in [next(sizes)]]
    list(numbers([next(sizes)]))
    with contextlib.suppress(StopIteration):
        waits(next(sizes)).send(None)
    Shapes.of_class(next(sizes))
    Shapes.from_except(next(sizes))
    with Shapes() as shapes:
        _ = shapes.held
    sorted([Shapes(), Shapes()])
    deep(40, next(sizes))
    exec(compile("\n" * 300 + "hold(size)", "<made>", "exec"), {"hold": hold, "size": next(sizes)})
    (lambda: hold(next(sizes)))()
    del ballast


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    gc.disable()  # the same objects die at the same places in each run
    if sys.argv[1:2] == ["--truth"]:
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            train(Marks(True), False)
        profiler.export_chrome_trace(sys.argv[2])
        return
    said = train(Marks(False), "--die" in sys.argv)
    frames()
    print(json.dumps({"python": sys.version.split()[0], "torch": torch.__version__, "cuda": torch.version.cuda,
                      "roles": said, "frames": [[len(block), frames] for frames, block in kept],
                      "modules": sorted(sys.modules)}))


if __name__ == "__main__":
    main()
