"""What memtrace costs a pair of cudaMalloc and cudaFree, and a training step that only launches kernels.

usage: device.py --library LIBMEMTRACE --cudart LIBCUDART [--rounds 7], by a Python with PyTorch for CUDA
On a machine without a GPU, run it on the CUDA node: docs/cuda-node.md. Each round runs bare, each setting of
MEMTRACE_CUPTI and bare again, in turn, and every other round in the opposite order. A ratio compares a run with the bare
run of its round. CPU is of the whole process, with memtrace's thread. Instructions are counted by callgrind, before
memtrace opens a trace (see callgrind.py), as the difference of two counts of pairs.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SETTINGS = ("bare", "off", "auto", "on", "bare again")
PAIRS, BYTES = 5000, 1 << 20
COUNTS = (1000, 3000)  # for callgrind
STEPS = {6: 1200, 24: 400}  # by the number of layers: seconds of steps, as the machine's speed changes within one
WARM = 50


def train(layers, steps):
    """Small layers and a small batch: the CPU is busy all the time. Prints the CPU ms of a step."""
    import torch

    torch.set_num_threads(1)
    parts = [part for _ in range(layers) for part in (torch.nn.Linear(64, 64), torch.nn.LayerNorm(64), torch.nn.GELU())]
    model = torch.nn.Sequential(*parts).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    batch = torch.randn(8, 64, device="cuda")
    for step in range(WARM + steps):
        if step == WARM:
            began = time.process_time()
            print(f"steps begin at {time.monotonic()}", file=sys.stderr)
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    print((time.process_time() - began) * 1000 / steps)


def environment(setting, library, out):
    known = {key: value for key, value in os.environ.items() if not key.startswith("MEMTRACE_")}
    if setting.startswith("bare"):
        return known
    return {**known, "LD_PRELOAD": library, "MEMTRACE_CUPTI": setting, "MEMTRACE_QUIET": "1", "MEMTRACE_OUT": out}


def measure(command, library, rounds, scratch):
    """The figures that the command printed, by setting."""
    found = {setting: [] for setting in SETTINGS}
    for number in range(rounds):
        for setting in SETTINGS if number % 2 == 0 else reversed(SETTINGS):
            done = subprocess.run(command, env=environment(setting, library, os.path.join(scratch, "out")),
                                  capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(f"device.py: {command[0]} failed with {setting}: {done.stderr[-500:]}")
            found[setting].append(float(done.stdout))
            shutil.rmtree(os.path.join(scratch, "out"), ignore_errors=True)
    return found


def instructions(program, setting, library, scratch):
    """Of a pair; None where callgrind cannot run the program."""
    counts = []
    for count in COUNTS:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch}/callgrind.out",
                               program, str(count), str(BYTES)], env=environment(setting, library, scratch + "/out"),
                              capture_output=True, text=True, errors="replace", check=False)
        found = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or not found:
            return None
        counts.append(int(found[1]))
    return (counts[1] - counts[0]) / (COUNTS[1] - COUNTS[0])


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f}..{max(values):.3f})"


def table(title, unit, found, counted=None):
    print(f"\n#### {title}\n\n| setting | {unit} | ratio to bare |" + (" instructions |" if counted else ""))
    print("| --- | ---: | ---: |" + (" ---: |" if counted else ""))
    for setting in SETTINGS:
        ratios = [value / bare for value, bare in zip(found[setting], found["bare"])]
        line = f"| {setting} | {statistics.median(found[setting]):.2f} | {'1' if setting == 'bare' else spread(ratios)} |"
        if counted:
            line += f" {counted[setting]:,.0f} |" if counted.get(setting) else " - |"
        print(line, flush=True)


def main():
    if sys.argv[1:2] == ["train"]:
        return train(int(sys.argv[2]), int(sys.argv[3]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--cudart", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    library = os.path.abspath(arguments.library)
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.join(scratch, "device_pair")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "device_pair.c")
        subprocess.run(["cc", "-O2", source, "-o", program, os.path.abspath(arguments.cudart),
                        "-Wl,--unresolved-symbols=ignore-in-shared-libs"], check=True)
        print(f"Load average before: {os.getloadavg()[0]:.1f}.")
        counted = {}
        if shutil.which("valgrind"):
            counted = {setting: instructions(program, setting, library, scratch) for setting in SETTINGS[:-1]}
        table("cudaMalloc and cudaFree of 1 MiB", "CPU us a pair",
              measure([program, str(PAIRS), str(BYTES)], library, arguments.rounds, scratch), counted)
        for layers, steps in STEPS.items():
            command = [sys.executable, os.path.abspath(__file__), "train", str(layers), str(steps)]
            table(f"A step of {layers} small layers", "CPU ms a step",
                  measure(command, library, arguments.rounds, scratch))
        print(f"\nLoad average after: {os.getloadavg()[0]:.1f}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
