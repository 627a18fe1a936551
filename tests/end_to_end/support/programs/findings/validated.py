"""Trains 14 steps, and validates after each with a graph: the losses of four batches are kept. The line of the model's call
in the validation ends in TRUTH."""
import torch

torch.set_num_threads(1)
STEPS, BATCHES = 14, 4
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(),
                            torch.nn.Linear(256, 256))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
history = []
for step in range(STEPS):
    x = torch.randn(1024, 256)
    (model(x) - x).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    for _ in range(BATCHES):
        x = torch.randn(1024, 256)
        history.append((model(x) - x).pow(2).mean())  # TRUTH
