"""Purpose: a training that takes seconds, for the recipe of DeepSpeed: ZeRO 2 in bfloat16 on the CPU.

BUCKET sets the numbers in a bucket of gradients. Without it, DeepSpeed's default is used.
"""
import os

os.environ.setdefault("DS_ACCELERATOR", "cpu")
import deepspeed  # noqa: E402, reads DS_ACCELERATOR
import torch  # noqa: E402
from torch import nn  # noqa: E402

for extension in ("deepspeed_shm_comm", "deepspeed_ccl_comm"):
    deepspeed.ops.__compatible_ops__[extension] = False  # each would be compiled; gloo needs neither
torch.set_num_threads(1)
deepspeed.init_distributed("gloo")
model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(8)])
bucket = {"reduce_bucket_size": int(os.environ["BUCKET"])} if "BUCKET" in os.environ else {}
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config={
    "train_micro_batch_size_per_gpu": 16,
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": 2, **bucket},
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}},
})
for step in range(6):
    batch = torch.randn(16, 1024, dtype=torch.bfloat16)
    loss = (engine(batch) - batch).square().mean()
    engine.backward(loss)
    engine.step()
print(f"rank {engine.global_rank}: loss {loss.item():.3f}")
