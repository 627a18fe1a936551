"""What memtrace costs the memory of a node: trainers, each with the workers of a DataLoader.

usage: node_memory.py --library LIBMEMTRACE [--trainers 8] [--workers 8] [--rounds 3], by a Python with PyTorch
Each trainer has trained some batches of images and waits, as its workers do, when the kernel's smaps_rollup of all
processes is read. Each round runs the node bare, under memtrace and bare again. RSS is the median of the trainers, or of
the workers. PSS is the sum over all processes: it divides a shared page among the processes that have it.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

SETTINGS = ("bare", "memtrace", "bare again")
KIB_IN_MIB = 1024
BATCHES = 6


def train(workers):
    """Runs one trainer: trains, prints "ready", and ends when its standard input does."""
    import torch
    from torch.utils.data import DataLoader

    from loader import Images

    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = [part for _ in range(8) for part in (torch.nn.Linear(512, 512), torch.nn.GELU())]
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 64 * 64, 512), *layers, torch.nn.Linear(512, 10))
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(Images(32 * workers * BATCHES), batch_size=32, num_workers=workers, persistent_workers=True)
    for images, labels in loader:
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
    print("ready", flush=True)
    sys.stdin.read()


def rollup(pid):
    """Returns RSS and PSS of a process in MiB."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file if ":" in line and "kB" in line)
    return tuple(int(fields[name].split()[0]) / KIB_IN_MIB for name in ("Rss", "Pss"))


def workers_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def measure(setting, arguments, scratch):
    """Returns the median RSS of the trainers and of the workers, and the sum of PSS, in MiB."""
    known = {key: value for key, value in os.environ.items() if not key.startswith("MEMTRACE_")}
    known.update(OMP_NUM_THREADS="1")
    if setting == "memtrace":
        known.update(LD_PRELOAD=os.path.abspath(arguments.library), MEMTRACE_QUIET="1",
                     MEMTRACE_OUT=os.path.join(scratch, "out"))
    command = [sys.executable, "-W", "ignore", os.path.abspath(__file__), "train", str(arguments.workers)]
    trainers = [subprocess.Popen(command, env=known, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                for _ in range(arguments.trainers)]
    for trainer in trainers:
        if trainer.stdout.readline() != "ready\n":
            sys.exit(f"node_memory.py: a trainer failed with {setting}")
    rows = [rollup(trainer.pid) for trainer in trainers]
    workers = [rollup(worker) for trainer in trainers for worker in workers_of(trainer.pid)]
    if len(workers) != arguments.trainers * arguments.workers:
        sys.exit(f"node_memory.py: {len(workers)} workers live instead of {arguments.trainers * arguments.workers}")
    for trainer in trainers:
        trainer.communicate()
    shutil.rmtree(os.path.join(scratch, "out"), ignore_errors=True)
    return (statistics.median(rss for rss, _ in rows), statistics.median(rss for rss, _ in workers),
            sum(pss for _, pss in rows + workers))


def more(values, bases):
    """The median of the differences to the bare run of the round, with their range, in MiB."""
    differences = sorted(value - base for value, base in zip(values, bases))
    return f"{statistics.median(differences):+.1f} ({differences[0]:+.1f}..{differences[-1]:+.1f})"


def main():
    if sys.argv[1:2] == ["train"]:
        return train(int(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--trainers", type=int, default=8)
    parser.add_argument("--workers", type=int, default=8, help="of each trainer")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    found = {setting: [] for setting in SETTINGS}
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(arguments.rounds):
            for setting in SETTINGS if number % 2 == 0 else reversed(SETTINGS):
                found[setting].append(measure(setting, arguments, scratch))
    print(f"| {arguments.trainers} trainers, {arguments.workers} workers each, MiB | bare | memtrace, more | "
          "bare again, more |\n| --- | ---: | ---: | ---: |")
    for at, name in enumerate(("RSS of a trainer", "RSS of a worker", "PSS of all processes")):
        columns = {setting: [row[at] for row in rows] for setting, rows in found.items()}
        print(f"| {name} | {statistics.median(columns['bare']):.1f} | {more(columns['memtrace'], columns['bare'])} | "
              f"{more(columns['bare again'], columns['bare'])} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
