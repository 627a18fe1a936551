"""Purpose: builds a transformer with a long context and runs it on a short prompt.

Thread: TransformerLensOrg/TransformerLens#479
Question: A model with a long context takes far more memory than its parameters.
Answer: Each attention layer registers a mask of the longest context squared, the same in every layer. Build the mask
    for the length that is used.
Finding: lines
Needs: torch
"""
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
LAYERS, CONTEXT, WIDTH = 4, 6144, 128


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        if not MENDED:
            self.register_buffer("mask", torch.ones(CONTEXT, CONTEXT, dtype=torch.bool).tril_())  # CAUSE

    def forward(self, x):
        length = x.shape[0]
        query, key, value = self.project(x).chunk(3, dim=-1)
        mask = torch.ones(length, length, dtype=torch.bool).tril_() if MENDED else self.mask[:length, :length]
        scores = (query @ key.T).masked_fill(~mask, -torch.inf)
        return x + scores.softmax(dim=-1) @ value


def main():
    torch.manual_seed(0)
    model = nn.Sequential(*[Attention() for _ in range(LAYERS)])
    with torch.no_grad():
        out = model(torch.randn(256, WIDTH))
    print("norm", float(out.norm()))
    print("truth", LAYERS * CONTEXT * CONTEXT)


main()
