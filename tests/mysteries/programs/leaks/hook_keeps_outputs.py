"""Purpose: trains a small network whose forward hook collects activations for per-sample gradients.

Thread: meta-pytorch/opacus#176
Question: Memory grows with each evaluation although the evaluation runs under torch.no_grad().
Answer: The forward hook stores the activations of every layer, and only a backward pass takes them out again. Without
    a backward pass they stay. The hook must not store them in evaluation.
Finding: leak-per-event
Needs: torch
Pattern: a hook on two layers stands for those of opacus.
"""
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
EPOCHS, STEPS, BATCH, WIDTH = 8, 3, 1024, 1024


class PerSampleGradients:
    def __init__(self, model):
        self.activations = {}
        for layer in model:
            if isinstance(layer, nn.Linear):
                self.activations[layer] = []
                layer.register_forward_hook(self.on_forward)
                layer.register_full_backward_hook(self.on_backward)

    def on_forward(self, layer, inputs, output):
        if MENDED and not torch.is_grad_enabled():
            return
        self.activations[layer].append(inputs[0].detach())

    def on_backward(self, layer, grad_input, grad_output):
        activation = self.activations[layer].pop()
        layer.sample_norm = grad_output[0].norm(dim=1) * activation.norm(dim=1)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 64))
    PerSampleGradients(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    images = torch.randn(BATCH, 64)
    for epoch in range(EPOCHS):
        for step in range(STEPS):
            optimizer.zero_grad()
            loss = model(images).pow(2).mean()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            score = model(images * 0.5).pow(2).mean()  # CAUSE
        print("epoch", epoch, "loss", float(loss), "score", float(score))
    # The inputs of the two layers: 64 and WIDTH numbers of four bytes for each image.
    print("truth", BATCH * (64 + WIDTH) * 4)


main()
