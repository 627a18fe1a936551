"""Sixteen layers, each of which keeps 8 MiB for backward, checkpointed in SEGMENTS segments.

usage: checkpointed.py SEGMENTS
"""
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

segments = int(sys.argv[1])
torch.manual_seed(0)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(1024))

    def forward(self, x):
        return torch.sigmoid(x + self.shift)


model = nn.Sequential(*[Layer() for _ in range(16)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    x = torch.ones(2048, 1024)
    for first in range(0, 16, 16 // segments):
        x = checkpoint(model[first:first + 16 // segments], x, use_reentrant=False)
    x.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
