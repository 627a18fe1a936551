"""Purpose: compares detectors that a search over their settings builds one after the other.

Thread: huggingface/transformers#45412
Question: RT-DETR keeps much memory after the model was deleted and the garbage collector has run.
Answer: A method that computes anchors has functools.lru_cache. The cache belongs to the class, and self is a part of
    its keys, so it holds every model whose method was called. The cache must belong to the instance.
Finding: leak-per-event
Needs: torch
"""
import functools
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
TRIALS, STEPS, WIDTH = 8, 3, 1024
cached = (lambda function: function) if MENDED else functools.lru_cache(maxsize=32)


class Detector(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.encoder = nn.Linear(WIDTH, WIDTH, bias=False)  # CAUSE
        self.dropout = nn.Dropout(dropout)
        self.boxes = nn.Linear(WIDTH, 4)

    @cached
    def anchors(self, height, width):
        return torch.stack(torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij"), -1).flatten(0, 1)

    def forward(self, features):
        return self.boxes(self.dropout(self.encoder(features))).sigmoid()[:, :2] - self.anchors(16, 16)[: len(features)]


def train(dropout, features):
    model = Detector(dropout)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(STEPS):
        loss = model(features).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return float(loss)


def main():
    torch.manual_seed(0)
    features = torch.randn(32, WIDTH)
    scores = {trial: train(trial / 20, features) for trial in range(TRIALS)}
    print("best trial", min(scores, key=scores.get))
    # The weight of one encoder.
    print("truth", WIDTH * WIDTH * 4)


main()
