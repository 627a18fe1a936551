"""Purpose: asks memray and PyTorch's profiler about a program, and returns the first answer of each.

memray: the frame that holds the most at the highest point, which its flame graph and its table show first. PyTorch: the
first row of the table of `torch.profiler`, sorted by the memory that an operator itself took. Each runs the program anew.
"""
import os
import re
import subprocess
import sys
import tempfile

import harness

MEMRAY = os.path.join(harness.CACHE, "memray-venv")
LIMIT = 180  # seconds

ASK_MEMRAY = """
import sys, memray
most = max(memray.FileReader(sys.argv[1]).get_high_watermark_allocation_records(merge_threads=True),
           key=lambda record: record.size, default=None)
if most is not None:
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
rows = sorted(profiler.key_averages(), key=lambda row: -row.self_cpu_memory_usage)
if rows:
    print(f"PEER {rows[0].key} {rows[0].self_cpu_memory_usage}")
"""


def of_size(text):
    """Returns the text with its last word, a number of bytes, in MiB."""
    words, _, size = text.rpartition(" ")
    return f"{words}, {int(size) / harness.MIB:.1f} MiB"


def run(command, environment, cwd):
    try:
        return subprocess.run(command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None


def environment_of(mystery):
    folders = [harness.packages(folder) for folder in mystery.folders]
    return harness.bare_environment(OMP_NUM_THREADS="1", PYTHONPATH=os.pathsep.join(folders))


def memray(mystery):
    """Returns memray's first answer in words."""
    if mystery.on_cuda or mystery.ranks:
        return "not run: it records one process and no GPU"
    if not os.path.exists(os.path.join(MEMRAY, "bin", "python")):
        return "not installed: scripts/bench --setup"
    with tempfile.TemporaryDirectory() as scratch:
        trace = os.path.join(scratch, "trace")
        # memray lies beside the Python that has PyTorch, for the same interpreter.
        environment = environment_of(mystery)
        packages = os.path.join(MEMRAY, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [environment["PYTHONPATH"], packages]))
        run([harness.torch_python(), "-m", "memray", "run", "-q", "-o", trace, mystery.path], environment, scratch)
        if not os.path.exists(trace):
            return "no trace"
        asked = run([harness.torch_python(), "-c", ASK_MEMRAY, trace], environment, scratch)
        return of_size(short(asked.stdout.strip())) if asked and asked.stdout.strip() else "no answer"


def pytorch(mystery):
    """Returns the first answer of PyTorch's profiler in words."""
    if "torch" not in mystery.fields.get("Needs", ""):
        return "not PyTorch"
    if mystery.on_cuda or mystery.ranks or mystery.limit:
        return "not run: " + ("the process is killed" if mystery.limit else "one process on the host only")
    with tempfile.TemporaryDirectory() as scratch:
        done = run([harness.torch_python(), "-c", ASK_PYTORCH, mystery.path], environment_of(mystery), scratch)
    found = re.search(r"^PEER (.*)$", done.stdout, re.M) if done else None
    return of_size(found[1]) if found else "no answer"


def short(text):
    """Returns the text with the last two parts of its path."""
    place, _, rest = text.partition(" ")
    return "/".join(place.split("/")[-2:]) + " " + rest
