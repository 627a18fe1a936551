"""A training run of 64 MiB of parameters that copies them: in the first step, in each step, or before.

usage: snapshot.py first|kept|every|before|none
"""
import copy
import sys

import torch
from torch import nn

how = sys.argv[1]
torch.manual_seed(0)
model = nn.Sequential(*[nn.Linear(2048, 2048, bias=False) for _ in range(4)])
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
kept = copy.deepcopy(model.state_dict()) if how == "before" else None

for step in range(6):
    loss = model(torch.ones(16, 2048)).square().mean()
    loss.backward()
    if how == "every" or (how in ("first", "kept") and step == 0):
        kept = copy.deepcopy(model.state_dict())
    optimizer.step()
    optimizer.zero_grad()
    if how != "kept":
        kept = None
