"""Purpose: trains a driving agent on frames that it collects in a replay buffer.

Thread: dotchen/LearningByCheating#6
Question: Phase 2 runs out of RAM after three or four epochs. The replay buffer is always growing.
Answer: The buffer holds uncompressed frames and its capacity is too large for the machine. Lower the capacity, or
    keep the frames on disk.
Finding: leak-per-step
Needs: torch, numpy
Pattern: random frames stand for those of the simulator.
"""
import collections
import sys

import numpy as np
import torch
from torch import nn

MENDED = "--mended" in sys.argv
STEPS, FRAMES, SHAPE = 30, 8, (384, 160, 3)
CAPACITY = 16 if MENDED else 200_000


class Simulator:
    def __init__(self):
        self.random = np.random.default_rng(0)

    def render(self):
        return self.random.integers(0, 256, SHAPE, dtype=np.uint8)  # CAUSE


def main():
    torch.manual_seed(0)
    simulator, buffer = Simulator(), collections.deque(maxlen=CAPACITY)
    for _ in range(16):
        buffer.append(simulator.render())
    convolution = nn.Conv2d(3, 8, 5, stride=4)
    policy = nn.Sequential(convolution, nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 3))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-4)
    for step in range(STEPS):
        for _ in range(FRAMES):
            buffer.append(simulator.render())
        picked = [buffer[index] for index in torch.randint(len(buffer), (4,))]
        images = torch.from_numpy(np.stack(picked)).permute(0, 3, 1, 2).float() / 255
        loss = policy(images).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("truth", FRAMES * int(np.prod(SHAPE)))


main()
