"""Purpose: trains a deep network under activation checkpointing.

Thread: tensorflow/tensorflow#39042
Question: Recomputing the activations saves no memory.
Answer: If the whole model is one segment, its backward pass recomputes all activations at once. The model must be
    split by hand into several.
Finding: recompute-peak
Needs: torch
Pattern: PyTorch's checkpoint stands for TensorFlow's recompute_grad.
"""
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

MENDED = "--mended" in sys.argv
STEPS, LAYERS, BATCH, WIDTH = 2, 9, 4096, 256


def main():
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(LAYERS)])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    inputs = torch.randn(BATCH, WIDTH)
    for step in range(STEPS):
        optimizer.zero_grad()
        if MENDED:
            output = checkpoint_sequential(model, 3, inputs, use_reentrant=False)
        else:
            output = checkpoint(model, inputs, use_reentrant=False)
        loss = output.pow(2).mean()
        loss.backward()  # CAUSE
        optimizer.step()
    print("loss", float(loss))
    # What each layer saves: the result of Linear, and that of GELU for the next Linear.
    print("truth", (2 * LAYERS - 1) * BATCH * WIDTH * 4)


main()
