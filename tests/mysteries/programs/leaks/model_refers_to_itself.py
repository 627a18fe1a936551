"""Purpose: trains a small network for each fold of a cross validation.

Thread: pytorch/pytorch#128211
Question: Memory grows with each new model if its constructor assigns one of its methods to an attribute.
Answer: The bound method refers to the model and the model to the method. Such a cycle stays until Python's garbage
    collector runs. Choose the method without storing it, or call gc.collect().
Finding: freed-by-gc
Needs: torch
"""
import sys
import weakref

import torch
from torch import nn

MENDED = "--mended" in sys.argv
FOLDS, STEPS, WIDTH = 32, 10, 1024
alive, most = set(), 0


class Model(nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.table = nn.Parameter(torch.randn(WIDTH, WIDTH) / WIDTH)  # CAUSE
        self.name, self.history = activation, []
        if not MENDED:
            self.activation = self.relu if activation == "relu" else self.square

    def relu(self, x):
        return x.relu()

    def square(self, x):
        return x * x

    def forward(self, x):
        activation = getattr(self, self.name) if MENDED else self.activation
        return activation(x @ self.table)


def watch(model, fold):
    global most
    alive.add(fold)
    weakref.finalize(model, alive.discard, fold)
    most = max(most, len(alive))


def train(fold, inputs):
    model = Model("relu")
    watch(model, fold)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(STEPS):
        loss = model(inputs).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        model.history.append({"step": step, "loss": float(loss)})
    return model.history[-1]["loss"]


def main():
    torch.manual_seed(0)
    inputs = torch.randn(4, WIDTH)
    print("mean loss", sum(train(fold, inputs) for fold in range(FOLDS)) / FOLDS)
    # The tables of the models that were alive at once, but for the one in use.
    print("truth", max(most - 1, 1) * WIDTH * WIDTH * 4)


main()
