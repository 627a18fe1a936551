"""Purpose: trains a network and keeps the predictions of each validation batch until its score is known.

Thread: skorch-dev/skorch#218
Question: Training works, but the memory grows with each batch of the validation until nothing is left.
Answer: The validation runs without torch.no_grad(), so each prediction that is kept also keeps its graph.
Finding: graph-kept-in-eval
Needs: torch
"""
import contextlib
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
EPOCHS, STEPS, BATCHES, BATCH, WIDTH = 2, 4, 12, 1024, 1024


def validate(model, batches):
    model.eval()
    predictions = []
    with torch.no_grad() if MENDED else contextlib.nullcontext():
        for batch in batches:
            predictions.append(model(batch))  # CAUSE
        score = float(torch.cat(predictions).pow(2).mean())
    model.train()
    return score


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 16))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    held_out = torch.randn(BATCHES * BATCH, 64).split(BATCH)
    for epoch in range(EPOCHS):
        for step in range(STEPS):
            optimizer.zero_grad()
            loss = model(torch.randn(BATCH, 64)).pow(2).mean()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "score", validate(model, held_out))
    # The results of ReLU, which the second layer saves for its backward pass, and the predictions.
    print("truth", BATCHES * BATCH * (WIDTH + 16) * 4)


main()
