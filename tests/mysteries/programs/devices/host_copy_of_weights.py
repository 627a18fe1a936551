"""Purpose: loads weights on the host, moves the model to the GPU, and trains.

Thread: vllm-project/vllm#784
Question: On a machine with little host memory, a large model is killed while it is loaded, although its weights are on
  the GPU by then. What holds the host memory?
Answer: The variable with the state dict lives on after it was used. Deleting it frees the host's copy.
Finding: parameter-copy
Needs: torch
Run: cuda
"""
import sys

import torch

MENDED = "--mended" in sys.argv
LAYERS, WIDTH = 12, 2048


def built():
    return torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)])


torch.save(built().state_dict(), "weights.pt")
state = torch.load("weights.pt", map_location="cpu")  # CAUSE
with torch.device("meta"):
    model = built()
model = model.to_empty(device="cuda")
model.load_state_dict(state)
if MENDED:
    del state
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    model(torch.ones(64, WIDTH, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print("truth", LAYERS * WIDTH * WIDTH * 4)
