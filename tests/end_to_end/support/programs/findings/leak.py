"""A training run with 300 MiB of transients, and a list that keeps 256 KiB of Python objects per step.

usage: leak.py STEPS leak|clean|window
"""
import sys

import torch

steps, how = int(sys.argv[1]), sys.argv[2]
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Linear(512, 512)
optimizer = torch.optim.AdamW(model.parameters())
kept = []


def note(step):
    # 256 bytes each, from Python's arenas for small objects: malloc does not see them.
    return [bytes(222) + bytes([step % 256]) for _ in range(1024)]


for step in range(steps):
    transient = torch.empty(75 << 20)  # 300 MiB; only one page is touched, so it is fast
    transient[0] = 1
    loss = model(torch.ones(64, 512) * transient[0]).square().mean()
    del transient
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if how != "clean":
        kept.append(note(step))
    if how == "window":
        del kept[:-3]
