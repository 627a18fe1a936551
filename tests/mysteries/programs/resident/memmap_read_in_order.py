"""Purpose: trains on token windows of a memory-mapped file, in order.

Thread: karpathy/nanoGPT#287
Question: RAM grows during training until the file's size is reached. The line that converts a window of the memmap
  seemed to leak its copy.
Answer: No leak. The pages of the mapped file stay in RSS once they are read; the kernel can take them back. Opening the
  memmap anew for each batch keeps RSS low.
Finding: page-cache-not-memory
Needs: torch, numpy
"""
import sys

import numpy
import torch

MENDED = "--mended" in sys.argv
TOKENS, WINDOW, BATCH = 192 << 20, 1 << 16, 64
VOCABULARY = 4096


def prepare(path):
    part = numpy.random.default_rng(0).integers(VOCABULARY, size=8 << 20, dtype=numpy.uint16)
    with open(path, "wb") as file:
        for _ in range(TOKENS // len(part)):
            part.tofile(file)


def opened():
    return numpy.memmap("train.bin", dtype=numpy.uint16, mode="r")


def windows(data, batch):
    first = batch * BATCH
    for i in range(first, first + BATCH):
        yield torch.from_numpy(data[i * WINDOW:(i + 1) * WINDOW].astype(numpy.int64))  # CAUSE


prepare("train.bin")
train = opened()  # CAUSE
model = torch.nn.EmbeddingBag(VOCABULARY, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(TOKENS // WINDOW // BATCH):
    if MENDED:
        train = opened()
    tokens = torch.stack([window[::64] for window in windows(train, step)])
    loss = model(tokens).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("truth", TOKENS * train.itemsize)
