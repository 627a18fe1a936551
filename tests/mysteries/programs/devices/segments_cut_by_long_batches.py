"""Purpose: runs a model on batches of growing length, and keeps its result in half precision on the GPU.

Thread: pytorch/pytorch#35901
Question: Out of memory, although half of the GPU's memory is reserved by PyTorch and not allocated. Why can it not be
  used?
Answer: The memory is in segments of which each has a small block in use. No hole is large enough for the next tensor,
  and a segment in use cannot be given back. Expandable segments avoid it.
Finding: device-fragmentation
Needs: torch
Run: cuda
"""
import os
import sys

MENDED = "--mended" in sys.argv
if MENDED:
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

import torch  # noqa: E402

MIB, BATCHES, WIDTH = 1 << 20, 16, 1024
kept, largest = [], (0, 0)
for tokens in range(6 * MIB, (6 + BATCHES) * MIB, MIB):
    hidden = torch.empty(tokens // WIDTH, WIDTH, device="cuda")  # CAUSE
    reserved = torch.cuda.memory_reserved()
    largest = max(largest, (reserved, reserved - torch.cuda.memory_allocated()))
    kept.append(hidden.half())  # CAUSE
    del hidden
print("truth", largest[1])
