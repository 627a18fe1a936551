"""What memtrace costs the steps of ranks that train one model with DistributedDataParallel on gloo.

usage: ranks.py --library LIBMEMTRACE [--ranks 2] [--rounds 9] [--steps 150], by a Python with PyTorch
All ranks wait for the slowest in each step, so a pause of one rank delays all. Each round runs the ranks bare, under
memtrace and bare again; every other round in the opposite order. Rank R is pinned to core R, if there is one for each.
The figures are the wall time of rank 0's steps: the median and the 99th percentile of a run. A ratio compares a run with
the bare run of its round. From six rounds on, a range contains the median of the ratios with 95 % (by ranks).
"""
import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from table import spread

SETTINGS = ("bare", "memtrace", "bare again")
WARM = 20


def train(steps):
    """Runs one rank. Rank 0 prints the wall time of each step after the first ones, in ms."""
    import torch
    from torch import distributed

    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if world <= os.cpu_count():
        os.sched_setaffinity(0, {rank})
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    distributed.init_process_group("gloo")
    layers = [part for _ in range(8) for part in (torch.nn.Linear(512, 512), torch.nn.LayerNorm(512), torch.nn.GELU())]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.AdamW(model.parameters())
    took = []
    for step in range(WARM + steps):
        began = time.perf_counter()
        model(torch.randn(64, 512)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step >= WARM:
            took.append((time.perf_counter() - began) * 1000)
    distributed.destroy_process_group()
    if rank == 0:
        print(json.dumps(took))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run(setting, library, ranks, steps, scratch):
    """The steps of rank 0, in ms."""
    known = {key: value for key, value in os.environ.items() if not key.startswith("MEMTRACE_")}
    known.update(WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), OMP_NUM_THREADS="1")
    out = os.path.join(scratch, "out")
    if setting == "memtrace":
        known.update(LD_PRELOAD=library, MEMTRACE_QUIET="1", MEMTRACE_OUT=out)
    started = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "train", str(steps)],
                                env={**known, "RANK": str(rank), "LOCAL_RANK": str(rank)}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in range(ranks)]
    done = [process.communicate() for process in started]
    for rank, process in enumerate(started):
        if process.returncode != 0:
            sys.exit(f"ranks.py: rank {rank} failed with {setting}: {done[rank][1][-500:]}")
    shutil.rmtree(out, ignore_errors=True)
    return json.loads(done[0][0])


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def main():
    if sys.argv[1:2] == ["train"]:
        return train(int(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=150)
    arguments = parser.parse_args()
    library = os.path.abspath(arguments.library)
    figures = {"median": statistics.median, "99th percentile": lambda took: percentile(took, 0.99)}
    found = {name: {setting: [] for setting in SETTINGS} for name in figures}
    print(f"Load average before: {os.getloadavg()[0]:.1f}.")
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(arguments.rounds):
            for setting in SETTINGS if number % 2 == 0 else reversed(SETTINGS):
                took = run(setting, library, arguments.ranks, arguments.steps, scratch)
                for name, figure in figures.items():
                    found[name][setting].append(figure(took))
    print(f"\n| {arguments.ranks} ranks, wall ms of a step | bare | memtrace / bare | bare again / bare |")
    print("| --- | ---: | ---: | ---: |")
    for name, values in found.items():
        cells = [spread([value / bare for value, bare in zip(values[setting], values["bare"])])
                 for setting in SETTINGS[1:]]
        print(f"| {name} | {statistics.median(values['bare']):.1f} | " + " | ".join(cells) + " |")
    print(f"\nLoad average after: {os.getloadavg()[0]:.1f}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
