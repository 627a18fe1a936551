"""Purpose: resumes training from a checkpoint that is loaded to the GPU.

Thread: karpathy/nanoGPT#533
Question: Resumed training takes more GPU memory than training from scratch.
Answer: The state dict that was loaded to the GPU lives on beside the model. It has to be deleted after it was copied.
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


torch.save({"model": built().state_dict(), "step": 1000}, "ckpt.pt")
checkpoint = torch.load("ckpt.pt", map_location="cuda")  # CAUSE
model = built().cuda()
state_dict = checkpoint["model"]
model.load_state_dict(state_dict)
first = checkpoint["step"]
if MENDED:
    checkpoint = state_dict = None
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
for step in range(first, first + 6):
    model(torch.ones(64, WIDTH, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
print("truth", LAYERS * WIDTH * WIDTH * 4)
