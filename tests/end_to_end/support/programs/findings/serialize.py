"""Trains a part of 96 MiB of parameters and writes them: to memory by torch.save, pickle or safetensors, or to
a file.

usage: serialize.py buffer|pickle|safetensors|file|opened
"""
import io
import pickle
import sys

import safetensors.torch
import torch
from torch import nn

how = sys.argv[1]
torch.manual_seed(0)
model = nn.Sequential(*[nn.Linear(2048, 2048, bias=False) for _ in range(6)])
model[:-1].requires_grad_(False)
optimizer = torch.optim.SGD(model[-1].parameters(), lr=0.1)
for _ in range(2):
    model(torch.ones(4, 2048)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
buffer = io.BytesIO()
if how == "buffer":
    torch.save(model.state_dict(), buffer)
elif how == "pickle":
    buffer.write(pickle.dumps(model.state_dict()))
elif how == "safetensors":
    buffer.write(safetensors.torch.save(model.state_dict()))
elif how == "opened":
    with open("model.pt", "wb") as file:
        torch.save(model.state_dict(), file)
else:
    torch.save(model.state_dict(), "model.pt")
