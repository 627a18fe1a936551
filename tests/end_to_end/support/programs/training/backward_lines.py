"""Purpose: makes gradients whose forward call is known: 16 and 4 MiB in each thread, alive at the peak of tensors.

With `view`, the 16 MiB are the gradient of a view. Its forward call allocates nothing, and a tensor without a gradient
comes next.

usage: backward_lines.py plain|checkpoint|threads|view
"""
import sys
import threading

import torch
from torch.utils.checkpoint import checkpoint

WIDTH = 1024


def first(x, w):
    y = x @ w  # FORWARD 0
    return torch.sigmoid(y)


def second(x, w):
    y = x @ w  # FORWARD 1
    return torch.sigmoid(y)


def step(x, w, function, way):
    if way == "checkpoint":
        h = checkpoint(function, x, w, use_reentrant=False)
    else:
        h = function(x, w)
    h.pow(2).sum().backward()


def view(x, w):
    y = x[:WIDTH]
    torch.zeros(WIDTH)
    z = w * 2  # FORWARD OF W
    (y.sum() + z.sum()).backward()  # BACKWARD


def work(seed, way, all_have_gradients):
    torch.manual_seed(seed)
    x = torch.randn(4 * WIDTH, WIDTH, requires_grad=True)
    w = torch.randn(WIDTH, WIDTH, requires_grad=True)
    if way == "view":
        view(x, w)
    else:
        step(x, w, (first, second)[seed], way)
    all_have_gradients.wait()
    if seed == 0:
        torch.zeros(64, WIDTH, WIDTH)
    all_have_gradients.wait()


def main(way):
    torch.set_num_threads(1)
    seeds = range(2) if way == "threads" else range(1)
    barrier = threading.Barrier(len(seeds))
    threads = [threading.Thread(target=work, args=(seed, way, barrier)) for seed in seeds]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


if __name__ == "__main__":
    main(sys.argv[1])
