"""A training run that evaluates after each fourth step and saves after each sixth.

usage: events.py clean|evaluation|save|tenth|last

What it keeps in a list: nothing, the logits of each evaluation (3 MiB), each serialized state (1 MiB and its frame), the
logits of each tenth step (1 MiB), or the logits of the last evaluation only.
"""
import io
import sys

import torch
from torch import nn

STEPS = 62
how = sys.argv[1]
torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Linear(1024, 256)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
history = []


def evaluate():
    logits = []
    with torch.no_grad():
        for _ in range(3):
            logits.append(model(torch.randn(1024, 1024)))
    if how == "evaluation":
        history.append(torch.cat(logits))
    if how == "last":
        history[:] = [torch.cat(logits)]
    return float(torch.cat(logits).mean())


def save():
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    if how == "save":
        history.append(buffer)
    return buffer.tell()


for step in range(STEPS):
    logits = model(torch.randn(1024, 1024))
    transient = torch.empty(75 << 20)  # 300 MiB, so that tensors lead; no page is touched
    del transient
    loss = logits.square().mean()
    if how == "tenth" and step % 10 == 9:
        history.append(logits.detach().clone())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 4 == 3:
        evaluate()
    if step % 6 == 5:
        save()
