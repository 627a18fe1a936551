"""Purpose: asks memray and PyTorch's profiler about a program, and returns the first answer of each.

memray: the frame that holds the most at the highest point, which its flame graph and its table show first. PyTorch: the
first row of the table of `torch.profiler`, sorted by the memory that an operator itself took: that of the GPU where the
program uses one. Each runs the program anew, in a scratch directory, as the program says: by torchrun, on the CUDA node,
or in a cgroup. Of ranks, the answer is that of the one with most memory.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cuda_node
import harness

MEMRAY = os.path.join(harness.CACHE, "memray-venv")
LIMIT = 180  # seconds

ASK_MEMRAY = """
import sys, memray
def largest(path):
    try:
        records = memray.FileReader(path).get_high_watermark_allocation_records(merge_threads=True)
        return max(records, key=lambda record: record.size, default=None)
    except OSError:  # the program was killed before anything was written
        return None
found = [most for most in map(largest, sys.argv[1:]) if most is not None]
if found:
    most = max(found, key=lambda record: record.size)
    frames = most.stack_trace()
    function, file, line = frames[0] if frames else ("native code", "?", 0)
    print(f"{file}:{line} {function} {most.size}")
"""
ASK_PYTORCH = """
import runpy, sys, torch
from torch.profiler import ProfilerActivity, profile
script = sys.argv.pop(1)
sys.argv[0] = script
with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit:
        pass
taken = lambda row: row.self_device_memory_usage if torch.cuda.is_available() else row.self_cpu_memory_usage
rows = sorted(profiler.key_averages(), key=lambda row: -taken(row))
if rows:
    print(f"PEER {rows[0].key} {taken(rows[0])}", flush=True)
"""


def of_size(text):
    """Returns the text with its last word, a number of bytes, in MiB."""
    words, _, size = text.rpartition(" ")
    return f"{words}, {int(size) / harness.MIB:.1f} MiB"


def run(command, environment, cwd, enter=None):
    try:
        return subprocess.run(command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=LIMIT, preexec_fn=enter)
    except subprocess.TimeoutExpired:
        return None


def environment_of(mystery, *more):
    folders = [harness.packages(folder) for folder in mystery.folders]
    return harness.bare_environment(OMP_NUM_THREADS="1", PYTHONPATH=os.pathsep.join([*folders, *more]))


def command_of(mystery, *words):
    """Returns the command that starts Python with these words, in each rank if the program has ranks."""
    if mystery.on_cuda:
        return [cuda_node.NODE, "python", *words]
    if mystery.ranks:
        return [harness.torch_python(), "-m", "torch.distributed.run", "--standalone",
                f"--nproc-per-node={mystery.ranks}", *words]
    return [harness.torch_python(), *words]


def memray(mystery, enter=None):
    """Returns memray's first answer in words. `enter`: moves the program into its cgroup."""
    if not os.path.exists(os.path.join(MEMRAY, "bin", "python")):
        return "not installed: scripts/bench --setup"
    # memray lies beside the Python that has PyTorch, for the same interpreter.
    packages = os.path.join(MEMRAY, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
    environment = environment_of(mystery, packages)
    with tempfile.TemporaryDirectory() as scratch:
        # memray writes a file for each process, beside the program.
        folder = os.path.join(scratch, mystery.group)
        os.mkdir(folder)
        program = shutil.copy(mystery.path, folder)
        run(command_of(mystery, "-m", "memray", "run", "-q", program), environment, scratch, enter)
        traces = glob.glob(os.path.join(folder, "memray-*.bin"))
        if not traces:
            return "no trace"
        asked = run([harness.torch_python(), "-c", ASK_MEMRAY, *traces], environment, scratch)
    return answer(asked, short(asked.stdout.strip()) if asked else "")


def pytorch(mystery, enter=None):
    """Returns the first answer of PyTorch's profiler in words."""
    if "torch" not in mystery.fields.get("Needs", ""):
        return "not PyTorch"
    with tempfile.TemporaryDirectory() as scratch:
        ask = os.path.join(scratch, "ask.py")
        with open(ask, "w", encoding="utf-8") as file:
            file.write(ASK_PYTORCH)
        done = run(command_of(mystery, ask, mystery.path), environment_of(mystery), scratch, enter)
    found = re.findall(r"^PEER (.*) (-?\d+)$", done.stdout, re.M) if done else []
    operator, size = max(found, key=lambda one: int(one[1]), default=("", "0"))
    return answer(done, f"{operator} {size}" if found else "")


def answer(done, text):
    """Returns the answer with its size in MiB, or why there is none. `done`: the program that was to print it."""
    if text.strip():
        return of_size(text)
    if done is None:
        return f"no answer in {LIMIT} s"
    return "no answer: the program is killed before it" if done.returncode in (-9, 137) else "no answer"


def short(text):
    """Returns the text with the last two parts of its path."""
    place, _, rest = text.partition(" ")
    return "/".join(place.split("/")[-2:]) + " " + rest
