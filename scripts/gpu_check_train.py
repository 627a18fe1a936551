"""A training run on cuda:0 that says what PyTorch's own counters read: the truth of scripts/gpu_check.

100 million parameters, three steps of AdamW with foreach, about 2 GiB on the device. The last line of stdout is JSON.
With --phases also the peak within each phase: the counters' peaks are reset at its edges.
"""
import json
import os
import sys

import torch
from torch import nn
from torch.nn import functional

WIDTH = 1024
HIDDEN = 4099  # odd on purpose: the caching allocator rounds such blocks up
BLOCKS = 12
STEPS = 3


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, HIDDEN)
        self.down = nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return x + self.down(functional.gelu(self.up(self.norm(x))))


class Counters:
    """PyTorch's peaks over the whole run, and, if asked, over each phase."""

    def __init__(self, by_phase):
        self.by_phase = by_phase
        self.allocated = self.reserved = 0
        self.phases = []

    def read(self):
        peak = torch.cuda.max_memory_allocated()
        self.allocated = max(self.allocated, peak)
        self.reserved = max(self.reserved, torch.cuda.max_memory_reserved())
        return peak

    def run(self, phase, step, call):
        if self.by_phase:
            self.read()
            torch.cuda.reset_peak_memory_stats()
        result = call()
        if self.by_phase:
            row = {"phase": phase, "step": step, "peak": self.read()}
            # After backward() returns, PyTorch drops the gradient it began with; memtrace's phase ended before that.
            if phase != "backward":
                row["exit"] = torch.cuda.memory_allocated()
            self.phases.append(row)
        return result


def main():
    torch.manual_seed(0)
    device = torch.device("cuda:0")
    counters = Counters("--phases" in sys.argv[1:])
    model = nn.Sequential(*(Block() for _ in range(BLOCKS)), nn.Linear(WIDTH, 1)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, foreach=True)
    for step in range(STEPS):
        batch = torch.randn(512, WIDTH, device=device)
        output = counters.run("forward", step, lambda: model(batch))
        loss = output.square().mean()
        counters.run("backward", step, loss.backward)
        counters.run("step", step, optimizer.step)
        optimizer.zero_grad(set_to_none=True)
        print(f"step {step}: loss {loss.item():.3f}", flush=True)
    counters.read()
    print(json.dumps({
        "pid": os.getpid(),
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(0),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "max_memory_allocated": counters.allocated,
        "max_memory_reserved": counters.reserved,
        "memory_allocated": torch.cuda.memory_allocated(),
        "memory_reserved": torch.cuda.memory_reserved(),
        "phases": counters.phases,
    }))


if __name__ == "__main__":
    main()
