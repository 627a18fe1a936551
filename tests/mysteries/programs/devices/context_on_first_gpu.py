"""Purpose: trains as the second rank of a machine; asks how much memory is free before it chooses its GPU.

Thread: NVIDIA/apex#222
Question: The processes of GPUs 1, 2 and 3 each take almost a GB of GPU 0. Is that expected?
Answer: No. A call that reaches CUDA before set_device makes a context on GPU 0, which takes memory there. set_device
  must come first.
Finding: device-context
Needs: torch
Run: cuda
"""
import os
import sys

import torch

MENDED = "--mended" in sys.argv
RANK = int(os.environ.get("LOCAL_RANK", 1))
WIDTH = 2048


def free_at_start():
    free, total = torch.cuda.mem_get_info()  # CAUSE
    return free, total


if MENDED:
    torch.cuda.set_device(RANK)
total_bytes = free_at_start()[1]
torch.cuda.set_device(RANK)
model = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(4)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    model(torch.ones(64, WIDTH, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print("truth", total_bytes - torch.cuda.mem_get_info(0)[0])
