"""Trains on batches of token ids that are padded to the longest sequence of the batch.

usage: lengths.py varied|equal|BYTES

varied: most sequences are short, and few are long. equal: all have 128 tokens. BYTES: as varied, without the batches that
have more bytes.
"""
import random
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader

how = sys.argv[1]
torch.manual_seed(0)
torch.set_num_threads(1)
drawn = random.Random(7)
lengths = [128 if how == "equal" else min(1024, int(64 * drawn.paretovariate(2))) for _ in range(40 * 8)]


def padded(sequences):
    return nn.utils.rnn.pad_sequence(sequences, batch_first=True)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(1000, 256)
        self.layers = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU())
        self.head = nn.Linear(256, 64)

    def forward(self, words):
        return self.head(self.layers(self.embed(words)))


model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
sequences = [torch.full((length,), 1 + length % 900) for length in lengths]
for words in DataLoader(sequences, batch_size=8, collate_fn=padded):
    if how.isdigit() and words.numel() * words.element_size() > int(how):
        continue
    loss = model(words).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    del loss
