"""Purpose: pins 64 MiB before five steps. The steps use all or a part of it, or it is freed.

usage: pinned_cache.py LIBCUDART held|used|emptied
PyTorch without CUDA has no pinned allocator, so this program provides its figures.
"""
import ctypes
import sys

import torch

MIB = 1 << 20
library, how = ctypes.CDLL(sys.argv[1]), sys.argv[2]
block = ctypes.c_void_p()
if library.cudaHostAlloc(ctypes.byref(block), ctypes.c_size_t(64 * MIB), 0):
    raise SystemExit("nothing was pinned")
small = ctypes.c_void_p()
library.cudaHostAlloc(ctypes.byref(small), ctypes.c_size_t(MIB), 0)
state = {"active_bytes.current": 65 * MIB, "allocated_bytes.current": 65 * MIB}
torch.cuda.host_memory_stats = lambda: state
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    if how != "used":
        state["active_bytes.current"] = MIB  # the data that was loaded through it is on the device now
    if how == "emptied" and step == 0:
        library.cudaFreeHost(block)
        state["allocated_bytes.current"] = MIB
    model(torch.ones(8, 64)).sum().backward()
    optimizer.step()
