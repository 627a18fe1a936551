"""Purpose: trains with Adam in a container in which SGD with momentum had enough memory.

Thread: pytorch/pytorch#9439
Question: Training fits with SGD. With Adam, the same batch size runs out of memory after the first batch.
Answer: Adam keeps two states for each parameter, and makes them in its first step. SGD with momentum keeps one.
Finding: optimizer-states-first-step
Needs: torch
Run: limit=940M
"""
import sys

import torch

MENDED = "--mended" in sys.argv
LAYERS, WIDTH = 3, 4096

torch.set_num_threads(1)
model = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)])
if MENDED:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, foreach=False)
else:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001, foreach=False)
print("truth", 2 * LAYERS * WIDTH * WIDTH * 4, flush=True)
for step in range(4):
    optimizer.zero_grad()
    model(torch.ones(4, WIDTH)).square().mean().backward()
    optimizer.step()  # CAUSE
