"""Purpose: trains a segmentation network and measures its predictions after each epoch.

Thread: microsoft/InnerEye-DeepLearning#209
Question: The training can run out of memory as the epochs go by.
Answer: The outputs of the model are kept across epochs. Drop them once the metrics of the epoch are known.
Finding: leak-per-event
Needs: torch
"""
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
EPOCHS, STEPS, SIZE = 8, 4, 192


class Results:
    def __init__(self):
        self.outputs, self.dice = [], []

    def add(self, epoch, output, masks):
        self.outputs.append((epoch, output))
        overlap = 2 * (output * masks).sum() / (output + masks).sum()
        self.dice.append(float(overlap))
        if MENDED:
            self.outputs.clear()


def main():
    torch.manual_seed(0)
    model = nn.Conv2d(1, 4, 3, padding=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    results = Results()
    images, masks = torch.rand(8, 1, SIZE, SIZE), torch.randint(2, (8, 4, SIZE, SIZE)).float()
    for epoch in range(EPOCHS):
        model.train()
        for step in range(STEPS):
            optimizer.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(model(images), masks)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            output = model(images).sigmoid()  # CAUSE
        results.add(epoch, output, masks)
    print("dice", results.dice[-1])
    print("truth", 8 * 4 * SIZE * SIZE * 4)


main()
