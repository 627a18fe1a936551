"""Purpose: a cause, and the same program without it: what the remedy saves is the difference of the two.

`copies`: line by line, 40 MiB of a table, two copies of 60 MiB, then an array of 50 MiB beside one of them.
`copies-fixed`: one copy only, so the array makes the peak.
`evaluated`: each step evaluates two batches with a graph and keeps the loss. `evaluated-fixed`: it does not.
"""
import sys

MIB = 1 << 20


def copies(fixed):
    table = bytearray(40 * MIB)
    first = bytearray(60 * MIB)
    second = None if fixed else bytearray(60 * MIB)  # a second copy
    del second
    array = bytearray(50 * MIB)  # the next peak
    del table, first, array


def evaluated(fixed):
    import torch
    torch.set_num_threads(1)
    layers = [layer for _ in range(3) for layer in (torch.nn.Linear(512, 512), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    history = []
    for _ in range(16):
        batch = torch.randn(512, 512)
        (model(batch) - batch).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        total = 0
        with torch.set_grad_enabled(not fixed):
            for _ in range(2):
                batch = torch.randn(512, 512)
                total = total + (model(batch) - batch).pow(2).mean()
        history.append(total.item() if fixed else total)


how, _, fix = sys.argv[1].partition("-")
{"copies": copies, "evaluated": evaluated}[how](fix == "fixed")
