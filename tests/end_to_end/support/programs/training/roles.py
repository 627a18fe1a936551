"""Purpose: runs a small training; prints afterwards the bytes of its tensors by role, by PyTorch's figures."""
import json
import sys

import torch
from torch import nn


def bytes_of(tensors):
    return sum(tensor.untyped_storage().nbytes() for tensor in tensors)


def train(model, optimizer, masters=()):
    pairs = list(zip(model.parameters(), masters))
    for _ in range(4):
        loss = model(torch.ones(8, 256, dtype=next(model.parameters()).dtype)).float().square().sum()
        loss.backward()
        for parameter, master in pairs:
            master.grad = parameter.grad.float()
            parameter.grad = None
        optimizer.step()
        for parameter, master in pairs:
            parameter.data.copy_(master)
        gradients = [p.grad for p in [*model.parameters(), *masters] if p.grad is not None]
        states = [value for state in optimizer.state.values() for value in state.values() if value.dim() > 0]
        print(json.dumps({"parameter": bytes_of(model.parameters()), "buffer": bytes_of(model.buffers()),
                          "gradient": bytes_of(gradients), "master": bytes_of(masters),
                          "optimizer_state": bytes_of(states)}))
        del gradients
        optimizer.zero_grad()


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 1024), nn.BatchNorm1d(1024), nn.ReLU(), nn.Linear(1024, 512))
    model.register_buffer("table", torch.zeros(300, 1000))
    if sys.argv[1] == "masters":
        model.bfloat16()
        masters = [nn.Parameter(parameter.detach().float()) for parameter in model.parameters()]
        train(model, torch.optim.AdamW(masters), masters)
    else:
        train(model, torch.optim.AdamW(model.parameters()))


if __name__ == "__main__":
    main()
