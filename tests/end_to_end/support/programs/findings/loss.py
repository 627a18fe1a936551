"""A small language model with logits of 64 MiB, its largest tensor: computed as a whole, or in parts.

usage: loss.py whole|bf16|parts
"""
import sys

import torch
from torch import nn
from torch.nn.functional import cross_entropy, linear_cross_entropy

how = sys.argv[1]
WORDS, WIDTH, TOKENS = 16384, 128, 1024
torch.manual_seed(0)
body = nn.Sequential(nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WIDTH), nn.ReLU())
head = nn.Linear(WIDTH, WORDS, bias=False)
if how == "bf16":
    head.bfloat16()
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)

for step in range(3):
    words, targets = torch.randint(WORDS, (2, TOKENS))
    hidden = body(words)
    if how == "parts":
        loss = linear_cross_entropy(hidden, head.weight, targets, options=nn.LinearCrossEntropyOptions(batch_chunk_size=128))
    else:
        loss = cross_entropy(head(hidden.to(head.weight.dtype)).float(), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
