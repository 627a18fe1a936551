"""Purpose: trains a speech encoder on batches of utterances, each padded to its longest one.

Thread: k2-fsa/icefall#119
Question: With max-duration 50, the training runs out of memory after some batches; with 30, most of the GPU is idle.
Answer: A few recordings are much longer than all others, and a batch that has one makes the peak. Filter them out.
Finding: input-driven-peak
Needs: torch
"""
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
BATCH, FEATURES, WIDTH = 8, 80, 1024
LENGTHS = [90, 120, 75, 110, 130, 85, 100, 125, 95, 80, 115, 105, 90, 1500, 120, 100, 85, 110, 130, 95, 75, 105, 115]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(FEATURES, WIDTH)
        self.head = nn.Linear(WIDTH, 16)

    def forward(self, frames):
        hidden = self.project(frames).tanh()  # CAUSE
        return self.head(hidden)


def main():
    torch.manual_seed(0)
    model = Encoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    lengths = [length for length in LENGTHS if length <= 200] if MENDED else LENGTHS
    for length in lengths:
        loss = model(torch.randn(BATCH, length, FEATURES)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss", float(loss))
    # The longest batch when the backward pass of tanh has run: the frames, the result of tanh, its gradient and
    # that of its input.
    print("truth", BATCH * max(lengths) * (FEATURES + 3 * WIDTH) * 4)


main()
