"""Purpose: trains with a large batch in small parts, one update for all of them.

Thread: filipradenovic/cnnimageretrieval-pytorch#20
Question: Why does the loop call loss.backward() for each tuple, and not once for the sum of all losses?
Answer: Both give the same gradients, but a sum keeps the graphs of all parts until its backward pass. One backward
    pass for each part frees its graph at once.
Finding: lines
Needs: torch
"""
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
STEPS, PARTS, BATCH, WIDTH = 3, 10, 1024, 1024


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 16))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    parts = torch.randn(PARTS * BATCH, 64).split(BATCH)
    for step in range(STEPS):
        optimizer.zero_grad()
        total = 0.0
        for part in parts:
            output = model(part)  # CAUSE
            loss = output.pow(2).mean() / PARTS
            if MENDED:
                loss.backward()
            else:
                total = total + loss
        if not MENDED:
            total.backward()
        optimizer.step()
    # The results of ReLU and the outputs of all parts.
    print("truth", PARTS * BATCH * (WIDTH + 16) * 4)


main()
