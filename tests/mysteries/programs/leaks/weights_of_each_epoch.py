"""Purpose: trains a network and returns the weights of the best epoch.

Thread: citoverse/cito#45
Question: With large networks, the memory fills up during the training.
Answer: The weights of every epoch are kept in memory. Keep only those of the last and of the best epoch.
Finding: leak-per-event
Needs: torch
Pattern: PyTorch from Python stands for torch for R.
"""
import copy
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
EPOCHS, STEPS, WIDTH = 10, 4, 1024


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    inputs = torch.randn(64, WIDTH)
    weights = {}
    losses = []
    for epoch in range(EPOCHS):
        for step in range(STEPS):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), inputs)
            loss.backward()
            optimizer.step()
        losses.append(float(loss))
        if MENDED:
            weights.clear()
        weights[epoch] = copy.deepcopy(model.state_dict())  # CAUSE
    best = min(weights, key=lambda epoch: losses[epoch])
    model.load_state_dict(weights[best])
    print("best epoch", best, "loss", losses[best])
    # Two weights and two biases.
    print("truth", 2 * (WIDTH * WIDTH + WIDTH) * 4)


main()
