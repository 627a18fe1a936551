"""Purpose: trains a network with Adam and a tiny batch.

Thread: pytorch/pytorch#97712
Question: The optimizer's step takes more memory than it did before it used the foreach implementation.
Answer: Its operations on lists make intermediates for all parameters at once. At least one list as large as the
    parameters is needed.
Finding: foreach-temporaries
Needs: torch
"""
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
STEPS, LAYERS, WIDTH = 6, 4, 1024


def main():
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, foreach=not MENDED)
    for step in range(STEPS):
        loss = model(torch.randn(4, WIDTH)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # CAUSE
    print("loss", float(loss))
    # The square roots of the second moments of all parameters.
    print("truth", LAYERS * WIDTH * WIDTH * 4)


main()
