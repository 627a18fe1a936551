# Purpose: trains equal layers whose tensors have known sizes, and holds a large tensor where its argument says.
# In a Python with PyTorch.
import sys

import torch
from torch import nn

WIDTH, ROWS, LAYERS = 64, 1024, 48
HELD = 512 << 20  # bytes: the peak is where they are


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.Linear(WIDTH, WIDTH, bias=False)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH, bias=False))

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.mlp(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, 4096, bias=False)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def main(where):
    model = Model()
    called = nn.DataParallel(model) if where == "wrapped" else model
    optimizer = None if where == "backward" else torch.optim.AdamW(model.parameters(), foreach=False)
    batch = torch.randn(ROWS, WIDTH)
    for step in range(2):
        last = step == 1
        loss = called(batch).mean()
        if last and where in ("forward", "wrapped"):
            held = torch.empty(HELD // 4)
            del held
        loss.backward()
        if last and where == "backward":
            held = torch.empty(HELD // 4)
            del held
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad()
        elif not last:
            model.zero_grad()


main(sys.argv[1])
