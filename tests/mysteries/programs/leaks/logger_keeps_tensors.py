"""Purpose: trains a network and logs statistics of each step.

Thread: wandb/wandb#354
Question: The program takes 40 GB of memory in an hour if it logs tensors. With tensor.item() it does not.
Answer: The logger keeps what it is given, and a tensor of the loss keeps its graph. Log numbers.
Finding: leak-per-step
Needs: torch
Pattern: a history in memory stands for wandb's run.
"""
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
STEPS, BATCH, WIDTH = 24, 1024, 1024


class Run:
    def __init__(self):
        self.history = []

    def log(self, row):
        self.history.append(row)


def main():
    torch.manual_seed(0)
    run = Run()
    encoder, head = nn.Linear(64, WIDTH), nn.Linear(WIDTH, 64)
    optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=1e-3)
    for step in range(STEPS):
        inputs = torch.randn(BATCH, 64)
        features = encoder(inputs)  # CAUSE
        loss = nn.functional.mse_loss(head(features), inputs)
        norm = features.norm(dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.log({"step": step, "loss": loss.item(), "norm": norm.item() if MENDED else norm})
    print("last row", run.history[-1])
    # The features, which the backward pass of the norm needs.
    print("truth", BATCH * WIDTH * 4)


main()
