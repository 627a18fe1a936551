"""Purpose: trains on the CPU with sentences of all lengths, padded to the longest of each batch.

Thread: pytorch/pytorch#98688
Question: Memory grows with each batch on the CPU while the sizes of the inputs vary.
Answer: oneDNN keeps a compiled kernel for each new shape, up to a limit. Pad to few lengths, or lower the limit by
    ONEDNN_PRIMITIVE_CACHE_CAPACITY.
Finding: leak-per-step
Needs: torch
"""
import re
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
STEPS, BATCH, WIDTHS, WARM = 48, 4, (64, 96, 128, 160, 64), 4


def resident():
    """Returns the anonymous memory of the process in bytes, as the kernel counts it."""
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        return int(re.search(r"Anonymous: +(\d+) kB", file.read())[1]) << 10


def main():
    torch.manual_seed(0)
    layers = [layer for sizes in zip(WIDTHS, WIDTHS[1:]) for layer in (nn.Linear(*sizes), nn.GELU())]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    order = torch.randperm(STEPS).tolist()
    before = 0
    for step in range(STEPS):
        if step == WARM:
            before = resident()
        longest = 90 if MENDED else 50 + 2 * order[step]
        loss = model(torch.randn(BATCH, longest, WIDTHS[0])).square().mean()  # CAUSE
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print("loss", float(loss.detach()))
    print("truth", max(resident() - before, 0) // (STEPS - WARM))


main()
