"""Train 40 small Linear layers with AdamW (foreach=False) on one thread: 3,000 tensors in a step of some 25 ms, so that
the CPU is busy with launches. Run by scripts/bench. Says what the steps took of this process's CPU time, without the
import and the first steps.
"""
import sys
import time

import torch

WARM = 5


def main():
    steps = int(sys.argv[1])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(*[part for _ in range(40) for part in (torch.nn.Linear(256, 256), torch.nn.ReLU())])
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    batch = torch.randn(8, 256)
    for step in range(WARM + steps):
        if step == WARM:
            began, began_cpu = time.monotonic(), time.process_time()
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    print(f"bench: steps={steps} steps_cpu={time.process_time() - began_cpu:.6f} "
          f"steps_wall={time.monotonic() - began:.6f}")


if __name__ == "__main__":
    main()
