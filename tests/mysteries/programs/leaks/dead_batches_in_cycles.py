"""Purpose: trains on batches that a pipeline prepares, each in an object of its own.

Thread: pytorch/pytorch#50185
Question: A loop that drops each object at once still runs out of memory, as if nothing were freed.
Answer: Each object refers to itself, so its tensors live until Python's cyclic garbage collector runs, and that
    counts objects, not bytes. Break the cycle, or call gc.collect().
Finding: freed-by-gc
Needs: torch
"""
import sys
import weakref

import torch
from torch import nn

MENDED = "--mended" in sys.argv
STEPS, BATCH, WIDTH = 60, 1024, 1024
alive, most = set(), 0


class Batch:
    def __init__(self, number):
        global most
        self.inputs = torch.randn(BATCH, WIDTH)  # CAUSE
        most = max(most, len(alive))
        self.on_done = None if MENDED else self.release
        self.number = number
        self.samples = [{"index": number * BATCH + row, "weight": 1.0} for row in range(32)]

    def release(self):
        self.inputs = None


def watch(batch):
    alive.add(batch.number)
    weakref.finalize(batch, alive.discard, batch.number)


def main():
    torch.manual_seed(0)
    model = nn.Linear(WIDTH, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(STEPS):
        batch = Batch(step)
        watch(batch)
        optimizer.zero_grad()
        loss = model(batch.inputs).pow(2).mean()
        loss.backward()
        optimizer.step()
        del batch
    # Earlier batches that were alive when one was made. A collection may follow before that one is watched.
    print("truth", max(most, 1) * BATCH * WIDTH * 4)


main()
