"""Purpose: trains a tagger and averages its loss and a soft accuracy over the epoch.

Thread: jostmey/NakedAttention#1
Question: The training loop runs out of memory although each batch is small.
Answer: The averages were summed with += from tensors that require gradients, so the graph of each batch stays until
    the end of the epoch. Detach what is only reported.
Finding: leak-per-step
Needs: torch
"""
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
STEPS, BATCH, TAGS = 24, 1024, 1024


def accuracy(logits, labels):
    misses = logits.sigmoid() - labels  # CAUSE
    return 1 - misses.abs().mean()


def main():
    torch.manual_seed(0)
    model = nn.Linear(64, TAGS)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    epoch_loss = epoch_accuracy = 0.0
    for step in range(STEPS):
        inputs, labels = torch.randn(BATCH, 64), torch.randint(2, (BATCH, TAGS)).float()
        logits = model(inputs)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, labels)
        batch_accuracy = accuracy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.detach() / STEPS
        epoch_accuracy += (batch_accuracy.detach() if MENDED else batch_accuracy) / STEPS
    print("loss", float(epoch_loss), "accuracy", float(epoch_accuracy))
    # The result of sigmoid and the misses, which the backward passes of sigmoid and abs need.
    print("truth", 2 * BATCH * TAGS * 4)


main()
