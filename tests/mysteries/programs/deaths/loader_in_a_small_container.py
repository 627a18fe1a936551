"""Purpose: loads batches by a worker in a container with the usual 64 MiB of shared memory.

Thread: pytorch/pytorch#5040
Question: "DataLoader worker is killed by signal: Bus error". What is wrong with the data set?
Answer: /dev/shm is full: batches go from the workers to their parent through it. Docker gives it 64 MiB, unless
  --shm-size says more. Without workers, nothing goes through it.
Finding: shm-full
Needs: torch
Pattern: a mount namespace with a small /dev/shm stands for the container
"""
import ctypes
import os
import sys
import time

import torch

MENDED = "--mended" in sys.argv
IMAGES, SIDE, BATCH, WORKERS = 96, 512, 8, 2
BATCH_BYTES = BATCH * 3 * SIDE * SIDE * 4


def enter_container(shared_mib):
    libc = ctypes.CDLL(None, use_errno=True)
    namespace, private = 0x00020000, 0x00044000
    if libc.unshare(namespace) or libc.mount(b"none", b"/", None, private, None):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if libc.mount(b"shm", b"/dev/shm", b"tmpfs", 0, f"size={shared_mib}m".encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return IMAGES

    def __getitem__(self, i):
        return torch.full((3, SIDE, SIDE), float(i))


enter_container(64)
print("truth", BATCH_BYTES, flush=True)
workers = {} if MENDED else {"num_workers": WORKERS, "prefetch_factor": 2}  # CAUSE
loader = torch.utils.data.DataLoader(Images(), batch_size=BATCH, **workers)
try:
    for images in loader:  # CAUSE
        images.mean()
        time.sleep(0.2)
except RuntimeError as error:
    print(error, file=sys.stderr)
