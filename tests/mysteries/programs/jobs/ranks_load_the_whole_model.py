"""Purpose: starts two ranks that each load a checkpoint and keep their shard of it.

Thread: deepspeedai/DeepSpeed#5290
Question: Host memory runs out before GPU memory does, and the more GPUs take part, the more host memory is needed.
Answer: Each rank first loads the whole model in its own host memory. With a memory-mapped checkpoint or a model on the
  meta device, each has only its shard.
Finding: rank-copies
Needs: torch
Run: ranks=2
Pattern: ranks on the CPU that cut each weight stand for the third stage of ZeRO
"""
import sys

import torch
import torch.distributed as distributed

MENDED = "--mended" in sys.argv
LAYERS, WIDTH = 24, 1024


def sharded(weights, rank, ranks):
    return {name: tensor.chunk(ranks)[rank].clone() for name, tensor in weights.items()}


def main():
    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    if rank == 0:
        torch.save({f"layer{i}": torch.randn(WIDTH, WIDTH) for i in range(LAYERS)}, "model.pt")
    distributed.barrier()
    weights = torch.load("model.pt", mmap=MENDED)  # CAUSE
    distributed.barrier()
    mine = sharded(weights, rank, ranks)
    del weights
    for _ in range(4):
        for tensor in mine.values():
            total = tensor.sum()
            distributed.all_reduce(total)
    if rank == 0:
        print("truth", ranks * LAYERS * WIDTH * WIDTH * 4)
    distributed.destroy_process_group()


main()
