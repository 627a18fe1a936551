"""Purpose: makes tensors early and writes to them later, in part, or never; prints which.

usage: touched.py
"""
import time

import torch

MIB = 1 << 20


def empty(mib):
    return torch.empty(mib * MIB // 4)


def late():
    return empty(40)


def half():
    return empty(24)


def never():
    return empty(20)


def at_once():
    return empty(16).fill_(1)


torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Linear(512, 512)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
buffers = [late(), half(), never(), at_once()]
time.sleep(0.4)


class Slow(torch.optim.Optimizer):
    """Writes to an earlier tensor in its third step."""

    def __init__(self, parameters):
        super().__init__(parameters, {})
        self.steps = 0

    @torch.no_grad()
    def step(self, closure=None):
        optimizer.step()
        if self.steps == 2:
            buffers[0].fill_(1)
            time.sleep(0.2)
            buffers[1][: len(buffers[1]) // 2].fill_(1)
        self.steps += 1
        time.sleep(0.1)


outer = Slow(model.parameters())
for _ in range(5):
    loss = model(torch.randn(64, 512)).square().mean()
    time.sleep(0.05)
    loss.backward()
    outer.step()
    outer.zero_grad()
print("done", flush=True)
