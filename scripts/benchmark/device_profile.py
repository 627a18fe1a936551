"""Where the CPU time of a training step that only launches kernels goes, without memtrace and with it.

usage: device_profile.py --library LIBMEMTRACE [--layers 6] [--rounds 5], by a Python with PyTorch for CUDA
On a machine without a GPU, run it on the CUDA node: docs/cuda-node.md. It needs perf, whose software clock samples all
threads of the steps of device.py, 999 times per second of CPU time. Each round runs bare and with MEMTRACE_CUPTI=off.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

from device import environment

STEPS = {6: 4500, 24: 1500}  # by the number of layers
HZ = 999
SAMPLE = re.compile(r"\s*(\d+)/(\d+)\s+([\d.]+):\s+[0-9a-f]+\s+\((.*)\)$")
ROWS = (("program", "the program and its libraries"),
        ("kernel", "the kernel, for the program's threads"),
        ("memtrace", "memtrace, in the program's threads"),
        ("own", "memtrace's thread"),
        ("own kernel", "the kernel, for memtrace's thread"))


def samples_of(path, begin):
    """(thread, is the first thread, file of the code) of each sample after `begin`."""
    text = subprocess.run(["perf", "script", "-i", path, "-F", "pid,tid,time,ip,dso"], capture_output=True, text=True,
                          errors="replace", check=True).stdout
    for line in text.splitlines():
        found = SAMPLE.match(line)
        if found and float(found[3]) >= begin:
            yield found[2], found[1] == found[2], os.path.basename(found[4])


def divided(samples):
    """The number of samples by row. memtrace's thread is the one that runs memtrace and never PyTorch or Python."""
    files = collections.defaultdict(collections.Counter)
    first = set()
    for thread, is_first, name in samples:
        files[thread][name] += 1
        if is_first:
            first.add(thread)
    rows = collections.Counter()
    for thread, counts in files.items():
        foreign = any(name.startswith(("libtorch", "libpython", "libc10")) for name in counts)
        is_own = thread not in first and "libmemtrace.so" in counts and not foreign
        for name, count in counts.items():
            if name.startswith("[kernel"):
                rows["own kernel" if is_own else "kernel"] += count
            elif name == "libmemtrace.so":
                rows["own" if is_own else "memtrace"] += count
            else:
                rows["own" if is_own else "program"] += count
    return rows


def profile(layers, setting, library, scratch):
    path, out = os.path.join(scratch, "perf.data"), os.path.join(scratch, "out")
    train = os.path.join(os.path.dirname(os.path.abspath(__file__)), "device.py")
    settings = [f"{key}={value}" for key, value in environment(setting, library, out).items()
                if key == "LD_PRELOAD" or key.startswith("MEMTRACE_")]
    perf = ["perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-F", str(HZ), "-e", "cpu-clock", "-o", path, "--"]
    done = subprocess.run([*perf, "env", *settings, sys.executable, train, "train", str(layers), str(STEPS[layers])],
                          env=environment("bare", library, out), capture_output=True, text=True, check=False)
    begin = re.search(r"steps begin at ([\d.]+)", done.stderr)
    if done.returncode != 0 or not begin:
        sys.exit(f"device_profile.py: the steps failed with {setting}: {done.stderr[-500:]}")
    return divided(samples_of(path, float(begin[1])))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--layers", type=int, choices=STEPS, default=6)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    library = os.path.abspath(arguments.library)
    found = {"bare": collections.Counter(), "off": collections.Counter()}
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(arguments.rounds):
            for setting in found if number % 2 == 0 else reversed(found):
                found[setting].update(profile(arguments.layers, setting, library, scratch))
    scale = 1000 / HZ / STEPS[arguments.layers] / arguments.rounds
    whole = sum(found["bare"].values())
    print(f"A step of {arguments.layers} small layers, {arguments.rounds} rounds:\n")
    print("| CPU ms a step | without memtrace | with memtrace | more, % of a bare step |\n| --- | ---: | ---: | ---: |")
    for key, title in ROWS:
        bare, traced = found["bare"][key], found["off"][key]
        print(f"| {title} | {bare * scale:.3f} | {traced * scale:.3f} | {100 * (traced - bare) / whole:.1f} |")
    traced = sum(found["off"].values())
    print(f"| all | {whole * scale:.3f} | {traced * scale:.3f} | {100 * (traced - whole) / whole:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
