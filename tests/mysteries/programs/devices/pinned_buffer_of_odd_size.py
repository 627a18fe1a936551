"""Purpose: stages batches through a pinned buffer for offloaded activations.

Thread: pytorch/pytorch#95823
Question: A pinned tensor of 8.3 GB takes 16 GB of host memory. Since which version does pinning double it?
Answer: The caching allocator of pinned memory rounds each request up to a power of two. Smaller pieces, or a threshold
  above which it does not round, take what was asked for.
Finding: pinned-rounding
Needs: torch
Run: cuda
"""
import sys

import torch

MENDED = "--mended" in sys.argv
MIB, BYTES, PIECE = 1 << 20, 136 << 20, 8 << 20


def pinned(size):
    return torch.empty(size, dtype=torch.uint8, pin_memory=True)  # CAUSE


buffers = [pinned(PIECE) for _ in range(BYTES // PIECE)] if MENDED else [pinned(BYTES)]
model = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    activations = model(torch.ones(1024, 1024, device="cuda"))
    buffers[0][:4 * MIB].copy_(activations.detach().view(torch.uint8).view(-1), non_blocking=True)
    activations.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
rounded = 1 << (BYTES - 1).bit_length()
print("truth", rounded - BYTES)
