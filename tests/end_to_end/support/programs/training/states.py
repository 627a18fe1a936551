"""Trains 96 MiB of parameters for three slow steps.

usage: states.py adam|sgd
"""
import sys
import time

import torch
import torch._dynamo  # else the first step imports it, and 47 MB of the highest charge are gone before the next sample
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*[nn.Linear(2048, 2048, bias=False) for _ in range(6)])
if sys.argv[1] == "adam":
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
else:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.ones(4, 2048)).sum().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    time.sleep(1.2)  # the cgroup is sampled twice a second
