"""Work for scripts/gpu_check: frameworks other than PyTorch, beside the counters of their own pools.

usage: work_others.py cupy|jax
The last line of stdout is JSON. If the package is missing, it says so, and nothing is checked.
"""
import json
import os
import sys


def cupy_pool():
    import cupy
    first = cupy.zeros(50 << 20, dtype=cupy.uint8)
    second = cupy.ones(30 << 20, dtype=cupy.uint8) + first[: 30 << 20]
    second.sum().item()
    return {"library": "cupy", "counter": "total_bytes of CuPy's pool", "bytes": cupy.get_default_memory_pool().total_bytes()}


def jax_pool():
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax
    matrix = jax.numpy.ones((4096, 4096))
    (matrix @ matrix).block_until_ready()
    stats = jax.devices()[0].memory_stats()
    counter = next(key for key in ("peak_pool_bytes", "pool_bytes", "bytes_reserved") if key in stats)
    return {"library": "xla_cuda", "counter": counter + " of XLA's allocator", "bytes": stats[counter], "stats": stats}


def main():
    try:
        truth = {"cupy": cupy_pool, "jax": jax_pool}[sys.argv[1]]()
    except ImportError as error:
        truth = {"missing": str(error)}
    print(json.dumps({"pid": os.getpid(), **truth}))


if __name__ == "__main__":
    main()
