"""Purpose: runs one training step before it pins memory and one after, with the statistics of its allocator.

usage: pinned_stats.py LIBCUDART. PyTorch without CUDA has no pinned allocator, so this program provides its
figures.
"""
import ctypes
import sys

import torch

MIB = 1 << 20
asked = 0


def host_memory_stats():
    global asked
    asked += 1
    return {"active_bytes.current": (5 if asked % 2 else 3) * MIB, "allocated_bytes.current": 8 * MIB}


torch.cuda.host_memory_stats = host_memory_stats
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step():
    model(torch.ones(8, 64)).sum().backward()
    optimizer.step()


step()
if asked:
    raise SystemExit("asked though nothing was pinned")
block = ctypes.c_void_p()
if ctypes.CDLL(sys.argv[1]).cudaHostAlloc(ctypes.byref(block), ctypes.c_size_t(8 * MIB), 0):
    raise SystemExit("nothing was pinned")
step()
