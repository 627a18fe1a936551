"""Purpose: builds a model and loads its checkpoint, in a container that has memory for little more than the model.

Thread: Comfy-Org/ComfyUI#11286
Question: Loading a model is killed for lack of host memory, although the model fits.
Answer: The state dict is a second copy of all weights until load_state_dict has copied them. A memory-mapped checkpoint
  and assign=True need no copy.
Finding: second-copy-on-load
Needs: torch
Run: limit=885M
"""
import os
import sys

import torch

MENDED = "--mended" in sys.argv
LAYERS, WIDTH, VOCABULARY = 18, 2048, 12288
SIZES = [(WIDTH, WIDTH)] * LAYERS + [(WIDTH, VOCABULARY)]


def built():
    return torch.nn.Sequential(*[torch.nn.Linear(*size, bias=False) for size in SIZES])


def prepare(path):
    """In a process of its own, as another job would have written the checkpoint."""
    child = os.fork()
    if child == 0:
        torch.save({f"{i}.weight": torch.ones(wide, narrow) for i, (narrow, wide) in enumerate(SIZES)}, path)
        os._exit(0)
    os.waitpid(child, 0)


torch.set_num_threads(1)
prepare("weights.pt")
print("truth", sum(narrow * wide * 4 for narrow, wide in SIZES), flush=True)
if MENDED:
    with torch.device("meta"):
        model = built()
    model.load_state_dict(torch.load("weights.pt", mmap=True), assign=True)
else:
    model = built()
    weights = torch.load("weights.pt")  # CAUSE
    model.load_state_dict(weights)
with torch.no_grad():
    print(float(model(torch.ones(1, WIDTH)).sum()))
