"""Purpose: trains on samples of which some are broken, and reports the failures at the end.

Thread: pytorch/pytorch#27600
Question: After an error was caught, neither gc.collect() nor empty_cache() frees the memory.
Answer: The exception holds the frames in which it was raised, and so their local variables with all tensors. As long
    as the exception is kept, so are they. Keep its text.
Finding: leak-per-step
Needs: torch
"""
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
STEPS, BATCH, WIDTH = 24, 1024, 512


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = nn.Linear(64, WIDTH), nn.Linear(WIDTH, 8)

    def forward(self, images, masks):
        features = self.encoder(images)  # CAUSE
        return self.head(features * masks)


def train_step(model, optimizer, images, masks):
    optimizer.zero_grad()
    loss = model(images, masks).pow(2).mean()
    loss.backward()
    optimizer.step()
    return float(loss)


def main():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    failures = []
    for step in range(STEPS):
        train_step(model, optimizer, torch.randn(BATCH, 64), torch.ones(BATCH, 1))
        try:
            train_step(model, optimizer, torch.randn(BATCH, 64), torch.ones(BATCH, 3))
        except RuntimeError as error:
            failures.append(str(error) if MENDED else error)
    print(len(failures), "broken batches, the last:", failures[-1])
    # The images and the features are local variables of frames that the exception holds.
    print("truth", BATCH * (64 + WIDTH) * 4)


main()
