"""Purpose: uploads an embedding table by way of pinned memory, then trains.

Thread: pytorch/pytorch#134332
Question: Pinned host memory is still held after the work that needed it. Nothing of it is left for what comes next.
Answer: The caching allocator of pinned memory keeps freed blocks, as that of the GPU does. It has to be told to give
  them back.
Finding: pinned-cache-held
Needs: torch
Run: cuda
"""
import sys

import torch

MENDED = "--mended" in sys.argv
ROWS, ROW = 1 << 16, 512


def uploaded(rows):
    staged = torch.empty(rows, ROW, pin_memory=True)  # CAUSE
    return staged.to("cuda", non_blocking=True)


table = uploaded(ROWS)
if MENDED:
    torch.cuda.synchronize()
    torch.accelerator.empty_host_cache()
model = torch.nn.Linear(ROW, ROW).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(12):
    rows = torch.randint(ROWS, (64,)).pin_memory().to("cuda", non_blocking=True)
    model(table[rows]).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print("truth", ROWS * ROW * 4)
