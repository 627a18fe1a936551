"""Purpose: trains a network with a loop that validates it and hands the outputs to a hook.

Thread: Lightning-AI/pytorch-lightning#5735
Question: Memory that the validation took stays taken during the training.
Answer: The evaluation loop keeps the outputs of all validation steps until the next validation begins. Clear them at
    the end of the validation.
Finding: lines
Needs: torch
Pattern: a short loop stands for Lightning's.
"""
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
STEPS, EVERY, BATCHES, BATCH, WIDTH = 16, 4, 16, 1024, 1024


class EvaluationLoop:
    def __init__(self, model):
        self.model, self.outputs = model, []

    def run(self, batches):
        self.outputs = []
        self.model.eval()
        with torch.no_grad():
            for batch in batches:
                self.outputs.append(self.model(batch))  # CAUSE
        worst = max(float(output.abs().max()) for output in self.outputs)
        self.model.train()
        if MENDED:
            self.outputs = []
        return worst


def main():
    torch.manual_seed(0)
    model = nn.Linear(64, WIDTH)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    evaluation = EvaluationLoop(model)
    for step in range(STEPS):
        if step % EVERY == EVERY - 1:
            print("largest output", evaluation.run(torch.randn(BATCHES, BATCH, 64)))
        inputs = torch.randn(BATCH * 4, 64)
        optimizer.zero_grad()
        loss = model(inputs).pow(2).mean()
        loss.backward()
        optimizer.step()
    print("truth", BATCHES * BATCH * WIDTH * 4)


main()
