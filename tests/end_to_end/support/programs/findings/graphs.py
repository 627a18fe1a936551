"""Purpose: trains and evaluates: cleanly, with graphs that the evaluation keeps, or with gradients freed late.

usage: graphs.py clean|kept|late
"""
import sys

import torch
from torch import nn

STEPS, BATCHES = 2, 5


def train(model, late):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        x = torch.ones(1024, 1024)
        if not late:
            optimizer.zero_grad()
        loss = model(x).square().mean()
        if late:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        del loss
    optimizer.zero_grad()


def evaluate(model):
    outputs = []
    for _ in range(BATCHES):
        outputs.append(model(torch.ones(1024, 1024)))
    return torch.cat(outputs).mean().item()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = [layer for _ in range(8) for layer in (nn.Linear(1024, 1024), nn.ReLU())]  # 4 MiB each, and its activation
    model = nn.Sequential(*layers, nn.Linear(1024, 64))
    train(model, late=sys.argv[1] == "late")
    with torch.set_grad_enabled(sys.argv[1] == "kept"):
        evaluate(model)


if __name__ == "__main__":
    main()
