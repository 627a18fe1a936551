"""Purpose: moves nested batches to another type by a function that calls itself.

Thread: pytorch/pytorch#20199
Question: Memory rises in every iteration up to some bound, and is flat if gc.collect() is called in each.
Answer: A function that is defined in another and calls itself is a reference cycle, together with all that it closes
    over. It lives until Python's garbage collector runs. Define the function outside, or delete it.
Finding: freed-by-gc
Needs: torch
Pattern: a conversion of batches stands for the nested function of load_state_dict.
"""
import sys
import weakref

import torch
from torch import nn

MENDED = "--mended" in sys.argv
STEPS, BATCH, WIDTH, LABELS = 60, 512, 1024, 24
alive, most = set(), 0


def converted(batch):
    leaves = []

    def convert(value):
        if isinstance(value, dict):
            return {key: convert(part) for key, part in value.items()}
        leaves.append(value.double())  # CAUSE
        return leaves[-1]

    out = convert(batch)
    if MENDED:
        del convert
    return out


def watch(tensor, number):
    global most
    alive.add(number)
    weakref.finalize(tensor, alive.discard, number)
    most = max(most, len(alive))


def main():
    torch.manual_seed(0)
    model = nn.Linear(WIDTH, 16).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs = torch.randn(BATCH, WIDTH)
    for step in range(STEPS):
        batch = converted({"inputs": inputs, "labels": {name: torch.zeros(BATCH) for name in range(LABELS)}})
        watch(batch["inputs"], step)
        optimizer.zero_grad()
        loss = model(batch["inputs"]).pow(2).mean()
        loss.backward()
        optimizer.step()
        del batch
    # Batches that were alive at once, but for the one in use.
    print("truth", max(most - 1, 1) * BATCH * WIDTH * 8)


main()
