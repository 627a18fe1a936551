"""Work for scripts/gpu_check: training on cuda:0, and what PyTorch's own counters said meanwhile.

usage: work_train.py [--optimizer foreach|forloop|fused] [--parameters N | --largest] [--width N] [--steps N] [--graph]
                     [--history] [--profiler] [--holder | --holder-later] [--no-phases]
The last line of stdout is JSON: the truth that a report of memtrace is held against. Peaks of phases need counters that
are reset at their edges, which --no-phases leaves alone.
"""
import argparse
import ctypes
import json
import os
import re
import statistics
import sys
import tempfile
import time

import torch
from torch import nn

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from gpu_check_train import Counters  # noqa: E402

ROUND = 512  # of the caching allocator's blocks


class Block(nn.Module):
    def __init__(self, width, dtype):
        super().__init__()
        self.up = nn.Linear(width, 4 * width, dtype=dtype)
        self.down = nn.Linear(4 * width, width, dtype=dtype)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


def make_model(parameters, width, dtype):
    blocks = max(1, round(parameters / (8 * width * width + 5 * width)))
    with torch.device("cuda:0"):
        return nn.Sequential(*(Block(width, dtype) for _ in range(blocks)))


def largest_that_fits(dtype):
    """Weights, gradients, two states and one copy for foreach's temporaries, and a tenth for the rest."""
    free, _ = torch.cuda.mem_get_info()
    return int(min(free * 0.9 / (5.5 * torch.empty((), dtype=dtype).element_size()), 8e9))


def hold_cupti():
    """As nsys does: another tool has the one subscription before memtrace comes."""
    name = next((n for n in ("libcupti.so.13", "libcupti.so.12") if opens(n)), None)
    if name is None:
        return "no libcupti to hold"
    cupti = ctypes.CDLL(name)
    hold_cupti.call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p)(
        lambda *_: None)
    hold_cupti.handle = ctypes.c_void_p()
    result = cupti.cuptiSubscribe(ctypes.byref(hold_cupti.handle), hold_cupti.call, None)
    return "held" if result == 0 else f"cuptiSubscribe gave {result}"


def opens(name):
    try:
        ctypes.CDLL(name)
        return True
    except OSError:
        return False


def blocks_at_peak():
    """How many blocks were alive, and what they came to, when that was most: from PyTorch's own history."""
    live, count, total = {}, 0, 0
    best = (0, 0)
    for event in torch.cuda.memory._snapshot()["device_traces"][0]:
        if event["action"] == "alloc":
            size = -(-event["size"] // ROUND) * ROUND
            live[event["addr"]] = size
            count, total = count + 1, total + size
            if total > best[1]:
                best = (count, total)
        elif event["action"] == "free_completed" and event["addr"] in live:
            count, total = count - 1, total - live.pop(event["addr"])
    return {"blocks": best[0], "bytes": best[1]}


def kernels_seen(profiler):
    return sum(1 for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA)


class Complaints:
    """What is written to stderr meanwhile, by Python and by libraries; it still goes there afterwards."""

    def __enter__(self):
        self.file, self.before = tempfile.TemporaryFile(), os.dup(2)
        os.dup2(self.file.fileno(), 2)
        return self

    def __exit__(self, *_):
        sys.stderr.flush()
        os.dup2(self.before, 2)
        self.file.seek(0)
        self.said = self.file.read()
        os.write(2, self.said)

    def text(self):
        """Without what differs from run to run: times, pids, addresses."""
        return re.sub(r"0x[0-9a-f]+|\d+", "N", self.said.decode(errors="replace"))


class Training:
    def __init__(self, options):
        self.options = options
        self.dtype = torch.bfloat16 if options.largest else torch.float32
        self.counters = Counters(not options.no_phases)

    def build(self):
        wanted = largest_that_fits(self.dtype) if self.options.largest else self.options.parameters
        self.width = self.options.width or (4096 if wanted > 1e9 else 1024)
        self.model, self.batch = self.counters.run("load", None, lambda: (make_model(wanted, self.width, self.dtype),
                                                                          self.make_batch()))
        switches = {"foreach": {"foreach": True}, "forloop": {"foreach": False}, "fused": {"fused": True}}
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, **switches[self.options.optimizer])

    def make_batch(self):
        return torch.randn(8, self.width, device="cuda:0", dtype=self.dtype)

    def step(self, number):
        loss = self.counters.run("forward", number, lambda: self.model(self.batch)).float().square().mean()
        self.counters.run("backward", number, loss.backward)
        self.counters.run("step", number, self.optimizer.step)
        self.optimizer.zero_grad(set_to_none=True)
        return loss

    def all_steps(self):
        """Wall seconds and seconds of CPU of each step."""
        times = []
        for number in range(self.options.steps):
            torch.cuda.synchronize()
            begin, cpu = time.perf_counter(), time.process_time()
            self.step(number)
            torch.cuda.synchronize()
            times.append((time.perf_counter() - begin, time.process_time() - cpu))
        return times

    def replayed(self):
        """One step's forward in a CUDA graph, whose memory is of a pool of its own."""
        batch = self.batch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side), torch.no_grad():
            self.model(batch)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph):
            self.kept = self.model(batch)
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--optimizer", choices=("foreach", "forloop", "fused"), default="foreach")
    parser.add_argument("--parameters", type=float, default=100e6)
    parser.add_argument("--width", type=int)
    parser.add_argument("--steps", type=int, default=3)
    for flag in ("largest", "graph", "history", "profiler", "holder", "holder-later", "no-phases"):
        parser.add_argument("--" + flag, action="store_true")
    options = parser.parse_args()
    truth = {"pid": os.getpid()}
    if options.holder:
        truth["holder"] = hold_cupti()
    torch.manual_seed(0)
    if options.history:
        torch.cuda.memory._record_memory_history(context=None, stacks="python")
    training = Training(options)
    training.build()
    if options.profiler:
        from torch.profiler import ProfilerActivity, profile
        with Complaints() as complaints, profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True) as profiler:
            times = training.all_steps()
        truth["kernels"] = kernels_seen(profiler)
        truth["complaints"] = complaints.text()
    else:
        times = training.all_steps()
    if options.holder_later:
        truth["later"] = hold_cupti()
    if options.graph:
        training.replayed()
    training.counters.read()
    if options.history:
        truth["history"] = blocks_at_peak()
    truth.update({
        "python": sys.version.split()[0], "torch": torch.__version__, "cuda": torch.version.cuda,
        "device": torch.cuda.get_device_name(0), "step_seconds": statistics.median(wall for wall, _ in times[2:]),
        "step_cpu_seconds": statistics.median(cpu for _, cpu in times[2:]),
        "parameters": sum(parameter.numel() for parameter in training.model.parameters()),
        "parameter_bytes": sum(p.numel() * p.element_size() for p in training.model.parameters()),
        "max_memory_allocated": training.counters.allocated, "max_memory_reserved": training.counters.reserved,
        "phases": training.counters.phases})
    print(json.dumps(truth))


if __name__ == "__main__":
    main()
