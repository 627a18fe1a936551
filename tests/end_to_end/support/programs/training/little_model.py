"""A model of 46,653 parameters beside a table of 300 MiB. The table is on the line that ends in TRUTH."""
import torch

table = bytearray(b"x") * (300 << 20)  # TRUTH
model = torch.nn.Sequential(torch.nn.Linear(60, 512), torch.nn.ReLU(), torch.nn.Linear(512, 30),
                            torch.nn.Linear(30, 1))
optimizer = torch.optim.Adam(model.parameters(), foreach=False)
for _ in range(3):
    model(torch.randn(64, 60)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
