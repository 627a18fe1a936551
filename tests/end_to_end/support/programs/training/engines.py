"""Purpose: trains the language model on two ranks over gloo, by one of the engines that divide it.

usage: engines.py ddp|fsdp2|zero2|zero3
"""
import os
import sys

import language_model as lm
import torch
import torch.distributed as dist
from torch import nn


def data_parallel():
    model = nn.parallel.DistributedDataParallel(lm.Model())
    lm.train(model, torch.optim.AdamW(model.parameters()))


def sharded():
    from torch.distributed.fsdp import fully_shard
    model = lm.Model()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    lm.train(model, torch.optim.AdamW(model.parameters()))


def zero(stage):
    import deepspeed
    for extension in ("deepspeed_shm_comm", "deepspeed_ccl_comm"):  # each would be compiled; gloo needs neither
        deepspeed.ops.__compatible_ops__[extension] = False
    model = lm.Model()
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config={
        "train_micro_batch_size_per_gpu": lm.BATCH,
        "bf16": {"enabled": True},
        "gradient_clipping": 1.0,
        "zero_optimization": {"stage": stage, "reduce_bucket_size": 1 << 20},
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}},
    })
    for (words,) in lm.batches():
        engine.backward(lm.loss_of(engine(words[:, :-1]), words))
        engine.step()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    {"ddp": data_parallel, "fsdp2": sharded, "zero2": lambda: zero(2), "zero3": lambda: zero(3)}[sys.argv[1]]()
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ["DS_ACCELERATOR"] = "cpu"
    main()
