"""Purpose: trains on random images of a mapped file that is larger than what the limit leaves for page cache.

Thread: NVIDIA/DALI#839
Question: At first, batches load fast. After some iterations the speed suddenly goes down, with any number of workers.
Answer: Memory is too small for the data set. At first, its pages are in the page cache; once that is full, the kernel
  drops pages before they are read again, so each epoch reads them from the drive. Smaller files, more memory or a
  faster drive help.
Finding: starved-for-memory
Needs: torch, numpy
Pattern: numpy's memmap stands for DALI's reader, which maps files; a cgroup stands for the machine
Run: limit=560M
"""
import mmap
import os
import sys

import numpy
import torch

MENDED = "--mended" in sys.argv
FIRST = 16  # the first steps also read PyTorch's own files
IMAGES, SIDE, BATCH, STEPS = 8192, 128, 64, 144
KIND = numpy.uint8 if MENDED else numpy.float32  # 128 or 512 MiB


def prepare(path):
    part = numpy.random.default_rng(0).integers(256, size=(512, SIDE, SIDE)).astype(KIND)
    with open(path, "wb") as file:
        for _ in range(IMAGES // len(part)):
            part.tofile(file)
        os.fsync(file.fileno())


def read_again():
    """Returns the bytes that the cgroup lost and read again, as the kernel counts them."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        path = {line.split(":")[1]: line.strip().split(":")[2] for line in file}
    directory = "/sys/fs/cgroup/memory" + path["memory"] if "memory" in path else "/sys/fs/cgroup" + path[""]
    with open(directory + "/memory.stat", encoding="ascii") as file:
        stat = dict(line.split() for line in file)
    return sum(int(stat.get("workingset_refault_" + of, 0)) for of in ("file", "anon")) * 4096


prepare("images.bin")
images = numpy.memmap("images.bin", dtype=KIND, mode="r", shape=(IMAGES, SIDE, SIDE))  # CAUSE
images._mmap.madvise(mmap.MADV_RANDOM)
model = torch.nn.Sequential(torch.nn.Linear(SIDE, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
generator = numpy.random.default_rng(1)
for step in range(STEPS):
    if step == FIRST:
        before = read_again()
    batch = torch.from_numpy(images[generator.integers(IMAGES, size=BATCH)])  # CAUSE
    loss = model(batch.float().mean(dim=1)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("truth", (read_again() - before) // (STEPS - FIRST))
