"""Purpose: runs ZeRO with the optimizer on the CPU, in one process, by DeepSpeed and its CPU Adam.

usage: zero.py STAGE ACCUMULATION
"""
import os
import sys

import deepspeed
import torch
from torch import nn

WIDTH, LAYERS, STEPS = 2048, 8, 3


def main():
    stage, accumulation = map(int, sys.argv[1:])
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)])
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config={
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": accumulation,
        "bf16": {"enabled": True},
        "gradient_clipping": 1.0,
        "zero_optimization": {"stage": stage, "reduce_bucket_size": 1 << 24,
                              "offload_optimizer": {"device": "cpu", "pin_memory": False}},
        "optimizer": {"type": "Adam", "params": {"lr": 1e-4}},
    })
    for _ in range(STEPS * accumulation):
        engine.backward(engine(torch.ones(1, WIDTH, dtype=torch.bfloat16)).float().sum())
        engine.step()


if __name__ == "__main__":
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", DS_ACCELERATOR="cpu")
    main()
