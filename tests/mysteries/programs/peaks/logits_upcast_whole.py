"""Purpose: computes the log-probabilities of sampled tokens under a policy, batch by batch.

Thread: NVIDIA-NeMo/RL#3005
Question: The computation of log-probabilities runs out of memory although the model itself fits.
Answer: The logits of the whole batch, sequence times vocabulary, are cast to float32 at once. Compute them in chunks
    of the sequence, each cast by itself.
Finding: loss-logits
Needs: torch
"""
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
BATCHES, BATCH, LENGTH, WORDS, WIDTH, CHUNK = 2, 2, 256, 16384, 512, 4


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def logprobs(self, hidden, tokens):
        logits = self.head(hidden).float()  # CAUSE
        return logits.log_softmax(dim=-1).gather(-1, tokens[..., None])[..., 0]  # CAUSE

    def forward(self, tokens):
        hidden = self.words(tokens)
        if not MENDED:
            return self.logprobs(hidden, tokens)
        parts = zip(hidden.split(CHUNK, dim=1), tokens.split(CHUNK, dim=1))
        return torch.cat([self.logprobs(*part) for part in parts], dim=1)


def main():
    torch.manual_seed(0)
    policy = Policy().bfloat16().eval()
    total = 0.0
    with torch.no_grad():
        for batch in range(BATCHES):
            total += float(policy(torch.randint(WORDS, (BATCH, LENGTH))).sum())
    print("mean log-probability", total / BATCHES / BATCH / LENGTH)
    # The logits as float32.
    print("truth", BATCH * LENGTH * WORDS * 4)


main()
