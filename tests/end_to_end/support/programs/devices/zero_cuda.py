"""Purpose: runs ZeRO by DeepSpeed on a GPU, with its optimizer offloaded to pinned host memory.

Prints a line for each rank: PyTorch's counters, and the host's buffers of the engine by role, as it holds them.
usage: zero_cuda.py STAGE ACCUMULATION
RANK and the like are set for one rank, where torchrun does not set them.
"""
import json
import os
import sys

import torch
from torch import nn

# 4 bytes of each parameter are 68 MiB, so the pinned allocator rounds them up to 128.
WIDTH, LAYERS, STEPS = 1024, 17, 3


def settings(stage, accumulation):
    return {
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": accumulation,
        # No kernel computes on the CUDA node, so gradients may be NaN, and the engine would skip its steps.
        "bf16": {"enabled": True, "check_grad_overflow": False},
        "gradient_clipping": 1.0,
        "zero_optimization": {"stage": stage, "reduce_bucket_size": 1 << 22,
                              "offload_optimizer": {"device": "cpu", "pin_memory": True}},
        "optimizer": {"type": "Adam", "params": {"lr": 1e-4}},
    }


def buffers(engine, stage):
    """Yields the role of each tensor that the engine keeps in the host's memory, and the tensor."""
    zero = engine.optimizer
    for master in zero.fp32_partitioned_groups_flat if stage == 3 else zero.single_partition_of_fp32_groups:
        yield "master", master
        yield "gradient", master.grad
        for state in zero.optimizer.state[master].values():
            if torch.is_tensor(state):
                yield "optimizer_state", state
    if stage == 3:
        yield "gradient", zero.grad_partitions_flat_buffer
        return
    for copy in zero.param_buffer_of_bit16_for_cpu_offload_groups:
        yield "staging", copy
    yield "staging", zero.temp_grad_buffer_for_cpu_offload
    for accumulated in zero.accumulated_grads_in_cpu.values():
        yield "gradient", accumulated


def sizes(engine, stage):
    """Returns the sizes of the tensors of each role, by whether their memory is pinned."""
    out = {}
    for role, tensor in buffers(engine, stage):
        of_role = out.setdefault(role, {"pinned": [], "pageable": []})
        of_role["pinned" if tensor.is_pinned() else "pageable"].append(tensor.untyped_storage().nbytes())
    return out


def blocks_of(tensors):
    """Returns the bytes of the caching allocator's blocks that have the tensors."""
    places = {tensor.untyped_storage().data_ptr() for tensor in tensors}
    blocks = [block for segment in torch.cuda.memory_snapshot() for block in segment["blocks"]]
    return sum(block["size"] for block in blocks if block["address"] in places)


def main():
    stage, accumulation = map(int, sys.argv[1:])
    import deepspeed
    torch.set_num_threads(1)
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)])
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings(stage, accumulation))
    for _ in range(STEPS * accumulation):
        engine.backward(engine(torch.ones(1, WIDTH, dtype=torch.bfloat16).cuda()).float().sum())
        engine.step()
    torch.cuda.synchronize()
    device, host = torch.cuda.memory_stats(), torch.cuda.host_memory_stats()
    said = {"rank": engine.global_rank, "pid": os.getpid(), "parameters": WIDTH * WIDTH * LAYERS, "host": sizes(engine, stage)}
    said |= {name: device[f"{name}_bytes.all.peak"] for name in ("allocated", "reserved")}
    said["pinned"] = host["allocated_bytes.peak"]
    said["parameters on the GPU"] = blocks_of(getattr(parameter, "ds_tensor", parameter) for parameter in model.parameters())
    os.write(1, ("\n" + json.dumps(said) + "\n").encode())


if __name__ == "__main__":
    for name, value in {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}.items():
        os.environ.setdefault(name, value)
    main()
