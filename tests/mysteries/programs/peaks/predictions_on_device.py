"""Purpose: evaluates a language model on a data set and computes its accuracy at the end.

Thread: huggingface/transformers#7232
Question: trainer.evaluate() runs out of memory on a large data set although each batch is small.
Answer: The logits of all batches are joined where the model computes, and moved only at the end. Reduce them first,
    or move them every few batches.
Finding: lines
Needs: torch
Pattern: a loop over batches stands for the Trainer's.
"""
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
BATCHES, BATCH, LENGTH, WORDS, WIDTH = 20, 4, 64, 4096, 64


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        return self.head(self.words(tokens))


def joined(predictions, logits):
    return logits if predictions is None else torch.cat((predictions, logits), dim=0)  # CAUSE


def evaluate(model, batches):
    predictions = None
    with torch.no_grad():
        for tokens in batches:
            logits = model(tokens)
            if MENDED:
                logits = logits.argmax(dim=-1)
            predictions = joined(predictions, logits)
    if not MENDED:
        predictions = predictions.argmax(dim=-1)
    return float((predictions == torch.cat(batches)).float().mean())


def main():
    torch.manual_seed(0)
    batches = torch.randint(WORDS, (BATCHES * BATCH, LENGTH)).split(BATCH)
    print("accuracy", evaluate(Model().eval(), batches))
    # The joined logits of all batches, and those of all but the last, from which they are made.
    print("truth", (2 * BATCHES - 1) * BATCH * LENGTH * WORDS * 4)


main()
