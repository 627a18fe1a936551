"""Purpose: answers many short prompts with a small transformer that caches keys and values.

Thread: NickMonrad/kernel-ai-assistant#558
Question: The assistant is killed for memory after some 160 quick questions.
Answer: The cache of keys and values grows with every turn of the conversation and is never reset. Reset it after a
    bounded number of turns.
Finding: leak-per-event
Needs: torch
Pattern: a layer of attention stands for the engine on the phone.
"""
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
TURNS, MAX_TURNS, TOKENS, WIDTH = 40, 4, 256, 1024


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.keys = self.values = None

    def reset(self):
        self.keys = self.values = None

    def forward(self, x):
        query, key, value = self.project(x).split(WIDTH, dim=-1)
        self.keys = key.contiguous() if self.keys is None else torch.cat([self.keys, key])  # CAUSE
        self.values = value.contiguous() if self.values is None else torch.cat([self.values, value])  # CAUSE
        weights = (query[-8:] @ self.keys.T / WIDTH**0.5).softmax(dim=-1)
        return weights @ self.values


def main():
    torch.manual_seed(0)
    model = Attention().eval()
    answers = []
    with torch.inference_mode():
        for turn in range(TURNS):
            if MENDED and turn % MAX_TURNS == 0:
                model.reset()
            answers.append(float(model(torch.randn(TOKENS, WIDTH)).norm()))
    print("answers", len(answers), "mean", sum(answers) / TURNS)
    # The keys and values of one turn.
    print("truth", 2 * TOKENS * WIDTH * 4)


main()
