"""Purpose: resumes the training of a network from a checkpoint.

Thread: karpathy/nanoGPT#533
Question: A resumed training takes more memory than one from scratch.
Answer: The variables that hold the loaded checkpoint live as long as the training. Delete them once the model has its
    weights.
Finding: parameter-copy
Needs: torch
"""
import os
import sys
import tempfile

import torch
from torch import nn

MENDED = "--mended" in sys.argv
STEPS, WORDS, WIDTH = 8, 16384, 256


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.head = nn.Linear(WIDTH, WIDTH)

    def forward(self, tokens):
        return self.head(self.words(tokens)).pow(2).mean()


def save_checkpoint(path):
    torch.save({"model": Model().state_dict(), "step": 1000}, path)


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ckpt.pt")
        save_checkpoint(path)
        checkpoint = torch.load(path)  # CAUSE
    model = Model()
    state_dict = checkpoint["model"]
    model.load_state_dict(state_dict)
    step = checkpoint["step"]
    if MENDED:
        del checkpoint, state_dict
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for step in range(step, step + STEPS):
        optimizer.zero_grad()
        loss = model(torch.randint(WORDS, (1024,)))
        loss.backward()
        optimizer.step()
    print("step", step, "loss", float(loss))
    print("truth", (WORDS * WIDTH + WIDTH * WIDTH + WIDTH) * 4)


main()
