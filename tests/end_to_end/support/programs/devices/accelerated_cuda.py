"""Purpose: trains on a GPU by accelerate, in bfloat16 with gradient accumulation, and batches by pinned memory.

Prints PyTorch's counters, and the sizes of what training keeps.
"""
import json
import os

import torch
from accelerate import Accelerator
from torch import nn

WIDTH, LAYERS, STEPS = 1024, 4, 3


def sizes(tensors):
    return sum(tensor.untyped_storage().nbytes() for tensor in tensors if tensor.ndim)


def main():
    torch.set_num_threads(1)
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)])
    data = torch.utils.data.DataLoader(torch.ones(2 * STEPS * 8, WIDTH), batch_size=8, pin_memory=True)
    model, optimizer, data = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), data)
    for batch in data:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).sum())
            optimizer.step()
            if accelerator.sync_gradients:
                kept = {"gradient": sizes(parameter.grad for parameter in model.parameters())}
            optimizer.zero_grad()
    torch.cuda.synchronize()
    device, host = torch.cuda.memory_stats(), torch.cuda.host_memory_stats()
    kept |= {"parameter": sizes(model.parameters()),
             "optimizer_state": sizes(value for state in optimizer.state.values() for value in state.values())}
    said = {"pid": os.getpid(), "parameters": sum(p.numel() for p in model.parameters()), "kept": kept,
            "pinned": host["allocated_bytes.peak"]}
    said |= {name: device[f"{name}_bytes.all.peak"] for name in ("allocated", "reserved")}
    os.write(1, ("\n" + json.dumps(said) + "\n").encode())


if __name__ == "__main__":
    main()
