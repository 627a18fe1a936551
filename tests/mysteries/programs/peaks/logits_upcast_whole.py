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
BATCHES, BATCH, LENGTH, WORDS, WIDTH, CHUNK = 4, 2, 256, 16384, 64, 32


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        return self.head(self.words(tokens))


def chosen(logits, tokens):
    logprobs = logits.float().log_softmax(dim=-1)  # CAUSE
    return logprobs.gather(-1, tokens[..., None])[..., 0]


def logprobs_of(policy, tokens):
    logits = policy(tokens)
    if not MENDED:
        return chosen(logits, tokens)
    parts = zip(logits.split(CHUNK, dim=1), tokens.split(CHUNK, dim=1))
    return torch.cat([chosen(part, words) for part, words in parts], dim=1)


def main():
    torch.manual_seed(0)
    policy = Policy().bfloat16().eval()
    total = 0.0
    with torch.no_grad():
        for batch in range(BATCHES):
            total += float(logprobs_of(policy, torch.randint(WORDS, (BATCH, LENGTH))).sum())
    print("mean log-probability", total / BATCHES / BATCH / LENGTH)
    # The logits as float32.
    print("truth", BATCH * LENGTH * WORDS * 4)


main()
