"""Purpose: trains a network with a moving average of its weights for evaluation.

Thread: mosaicml/composer#1941
Question: The moving average takes twice the memory of the parameters, not once.
Answer: Beside the average, the algorithm holds a second copy of the model for the weights of the training, which it
    needs only while they are swapped. Swap them in place.
Finding: parameter-copy
Needs: torch
"""
import copy
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
STEPS, WORDS, WIDTH = 12, 16384, 256


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.head = nn.Linear(WIDTH, WIDTH)

    def forward(self, tokens):
        return self.head(self.words(tokens)).pow(2).mean()


class MovingAverage:
    def __init__(self, model):
        self.model = model
        self.average = copy.deepcopy(model)
        self.training = None if MENDED else copy.deepcopy(model)  # CAUSE

    @torch.no_grad()
    def update(self):
        for mean, now in zip(self.average.parameters(), self.model.parameters()):
            mean.lerp_(now, 0.01)

    @torch.no_grad()
    def evaluate(self, tokens):
        if MENDED:
            return float(self.average(tokens))
        self.training.load_state_dict(self.model.state_dict())
        self.model.load_state_dict(self.average.state_dict())
        score = float(self.model(tokens))
        self.model.load_state_dict(self.training.state_dict())
        return score


def main():
    torch.manual_seed(0)
    model = Model()
    ema = MovingAverage(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = model(torch.randint(WORDS, (1024,)))
        loss.backward()
        optimizer.step()
        ema.update()
    print("score", ema.evaluate(torch.randint(WORDS, (1024,))))
    print("truth", (WORDS * WIDTH + WIDTH * WIDTH + WIDTH) * 4)


main()
