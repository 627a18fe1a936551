"""Purpose: trains an embedding with a loop that clears the gradients just before the backward pass.

Thread: karpathy/nanoGPT#71
Question: Why does it make a difference where a loop calls zero_grad(set_to_none=True)?
Answer: From the update up to that call, the gradients take memory. Called after the forward pass, they are alive
    together with all activations, where the peak is. Call it right after the update.
Finding: gradients-kept-through-forward
Needs: torch
"""
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
STEPS, TOKENS, WORDS, WIDTH, LAYERS = 6, 4096, 32768, 256, 4


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.scales = nn.Parameter(torch.ones(LAYERS, WIDTH))

    def forward(self, tokens):
        x = self.words(tokens)
        for scale in self.scales:
            x = nn.functional.gelu(x) * scale
        return x.mean()


def main():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for step in range(STEPS):
        loss = model(torch.randint(WORDS, (TOKENS,)))
        if not MENDED:
            optimizer.zero_grad(set_to_none=True)  # CAUSE
        loss.backward()  # CAUSE
        optimizer.step()  # CAUSE
        if MENDED:
            optimizer.zero_grad(set_to_none=True)
    print("loss", float(loss))
    # The gradient of the embedding.
    print("truth", WORDS * WIDTH * 4)


main()
