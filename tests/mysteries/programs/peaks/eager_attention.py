"""Purpose: trains a small transformer on one long sequence.

Thread: vllm-project/speculators#881
Question: At 8192 tokens, the training takes 50 GiB and runs out of memory.
Answer: The attention defaults to eager, which makes a matrix of heads times length times length in each layer. Use
    SDPA.
Finding: lines
Needs: torch
"""
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
STEPS, LAYERS, HEADS, LENGTH, WIDTH = 2, 3, 4, 1024, 128


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x):
        query, key, value = self.project(x).view(LENGTH, 3, HEADS, -1).permute(1, 2, 0, 3)
        if MENDED:
            mixed = nn.functional.scaled_dot_product_attention(query[None], key[None], value[None])[0]
        else:
            scores = query @ key.transpose(1, 2) / (WIDTH // HEADS) ** 0.5
            weights = scores.softmax(dim=-1)  # CAUSE
            mixed = weights @ value
        return x + mixed.transpose(0, 1).reshape(LENGTH, WIDTH)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(*[Attention() for _ in range(LAYERS)])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs = torch.randn(LENGTH, WIDTH)
    for step in range(STEPS):
        loss = model(inputs).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss", float(loss))
    # The weights of all layers, which their backward passes need.
    print("truth", LAYERS * HEADS * LENGTH * LENGTH * 4)


main()
