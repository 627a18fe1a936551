"""Purpose: estimates the curvature of the loss for many freshly started networks.

Thread: pytorch/pytorch#7343
Question: Memory that backward(create_graph=True) used is not freed, and gc.collect() finds nothing.
Answer: Each gradient has a graph that leads back to its parameter, and the parameter owns the gradient: a reference
    cycle in C++, which Python's collector does not see. Use autograd.grad(), or set .grad to None.
Finding: leak-per-step
Needs: torch
"""
import sys

import torch
from torch import nn

MENDED = "--mended" in sys.argv
TRIALS, WIDTH = 20, 1024


def curvature(model, inputs):
    loss = model(inputs).tanh().pow(2).sum()
    parameters = list(model.parameters())
    if MENDED:
        gradients = torch.autograd.grad(loss, parameters, create_graph=True)
    else:
        loss.backward(create_graph=True)  # CAUSE
        gradients = [parameter.grad for parameter in parameters]
    directions = [torch.sign(gradient.detach()) for gradient in gradients]
    products = torch.autograd.grad(gradients, parameters, grad_outputs=directions)
    return float(sum((product * direction).sum() for product, direction in zip(products, directions)))


def main():
    torch.manual_seed(0)
    inputs = torch.randn(4, WIDTH)
    traces = []
    for trial in range(TRIALS):
        model = nn.Linear(WIDTH, WIDTH, bias=False)  # CAUSE
        traces.append(curvature(model, inputs))
    print("mean curvature", sum(traces) / TRIALS)
    # The weight and its gradient.
    print("truth", 2 * WIDTH * WIDTH * 4)


main()
