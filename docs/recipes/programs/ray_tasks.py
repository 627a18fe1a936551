"""Purpose: a driver, two tasks and an actor that take seconds, for the recipe of Ray on one host.

usage: ray_tasks.py [auto]: with auto, in the cluster that runs here. Its raylet starts the workers, so they get the
variables of memtrace by runtime_env.
"""
import os
import sys

import ray


@ray.remote(num_cpus=1)
def prepare(part):
    rows = bytearray(b"x" * (80 << 20))  # copied once: 160 MiB at the highest point
    return len(rows) * part


@ray.remote(num_cpus=1)
class Cache:
    def __init__(self):
        self.kept = []

    def add(self):
        self.kept.append(b"y" * (16 << 20))
        return len(self.kept)


if __name__ == "__main__":
    if sys.argv[1:] == ["auto"]:
        variables = {name: value for name, value in os.environ.items()
                     if name == "LD_PRELOAD" or name.startswith("MEMTRACE")}
        ray.init("auto", runtime_env={"env_vars": variables})
    else:
        ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20)
    print("prepared", ray.get([prepare.remote(part) for part in range(2)]))
    cache = Cache.remote()
    print("in the cache:", [ray.get(cache.add.remote()) for _ in range(8)][-1])
    ray.shutdown()
