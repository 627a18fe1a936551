"""A training run with 300 MiB of transients, and a list that keeps 256 KiB of Python objects of every step.

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
    # 256 bytes each, from the arenas of Python's small objects: no malloc sees them.
    return [bytes(222) + bytes([step % 256]) for _ in range(1024)]


for step in range(steps):
    transient = torch.empty(75 << 20)  # 300 MiB, of which a page is touched: it is quick so
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
