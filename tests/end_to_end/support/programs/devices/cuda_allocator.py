"""Purpose: allocates on cuda:0 by PyTorch's caching allocator, and prints as JSON what its counters say.

usage: cuda_allocator.py segments KEPT | blocks
segments: ten times a tensor of 1 GiB comes and goes, and one of KEPT MiB takes its place and stays
blocks: tensors of 8, 30 and 0.5 MiB, of which the second goes; the cache is emptied; one is too large
"""
import json
import sys

import torch

MIB = 1 << 20


def take(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda:0")


def segments(kept):
    held, most = [], {"reserved": 0}
    for _ in range(10):
        passing = take(1024 * MIB)
        if torch.cuda.memory_reserved() > most["reserved"]:
            most = {"reserved": torch.cuda.memory_reserved(), "allocated": torch.cuda.memory_allocated(),
                    "segments": [(one["total_size"], one["allocated_size"]) for one in torch.cuda.memory_snapshot()]}
        del passing
        held.append(take(kept * MIB))
    return most


def blocks():
    kept, passing = [take(8 * MIB), take(MIB // 2)], take(30 * MIB - 100)
    del passing
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    try:
        kept.append(take(1 << 40))
    except torch.OutOfMemoryError:
        pass
    return {"tensor": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved(),
            "tensor_at_end": torch.cuda.memory_allocated(), "reserved_at_end": torch.cuda.memory_reserved(),
            "free": free, "total": total}


print(json.dumps(segments(int(sys.argv[2])) if sys.argv[1] == "segments" else blocks()))
