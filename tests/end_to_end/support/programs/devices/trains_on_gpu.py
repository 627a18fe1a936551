"""Purpose: trains on cuda:0. After each step that stdin names, it says PyTorch's counters as a line of JSON and waits for the
next line."""
import json
import os
import sys

import torch
from torch import nn

model = nn.Sequential(*(nn.Linear(512, 512) for _ in range(6))).cuda()
optimizer = torch.optim.AdamW(model.parameters())
kept = []
step = 0
for line in sys.stdin:
    last = int(line)
    while step < last:
        torch.cuda.reset_peak_memory_stats()
        model(torch.randn(256, 512, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        kept.append(torch.empty(1 << 19, device="cuda"))  # 2 MiB a step
        step += 1
    free, total = torch.cuda.mem_get_info()
    print(json.dumps({"pid": os.getpid(), "step": step, "allocated": torch.cuda.memory_allocated(),
                      "reserved": torch.cuda.memory_reserved(), "peak": torch.cuda.max_memory_allocated(),
                      "used": total - free, "total": total}), flush=True)
del kept[:3]
