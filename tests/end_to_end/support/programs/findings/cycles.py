"""Purpose: trains with one batch per step in a reference cycle, and collects every eighth step.

usage: cycles.py [--mended]    prints what was freed by each collection, by a weak reference's callback
"""
import gc
import sys
import weakref

import torch

BATCH, STEPS, EACH = 1024 * 1024 * 4, 32, 8  # bytes of a batch


class Sample:
    """Refers to itself unless the program is mended."""

    def __init__(self, tensor):
        self.tensor = tensor
        if "--mended" not in sys.argv:
            self.owner = self


freed = 0


def count(_):
    global freed
    freed += BATCH


gc.collect()
gc.disable()
model = torch.nn.Linear(1024, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
watched, collected = [], []
for step in range(STEPS):
    sample = Sample(torch.ones(1024, 1024))
    watched.append(weakref.ref(sample, count))
    model(sample.tensor).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % EACH == EACH - 1:
        freed = 0
        gc.collect()
        collected.append(freed)
print(collected, len(gc.callbacks))
