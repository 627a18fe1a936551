"""All jobs of scripts/gpu_check on a machine that has a GPU, one after the other, within eight minutes.

usage: run.py PREFIX OUT   with the Python that has PyTorch
Prints a table of checks with their figures and writes them to OUT/gpu_check.json. Exit 0: all hold; 1: some do not, or
a job failed.
"""
import glob
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Callable

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import checks  # noqa: E402
from checks import Row, Run, compare  # noqa: E402

BUDGET = 460  # seconds for all of it
PATIENCE = 120  # for one program
KEEP = ("PATH", "HOME", "USER", "TMPDIR", "LANG", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "PYTHONPATH",
        "VIRTUAL_ENV", "TERM", "XDG_CACHE_HOME", "CUDA_HOME", "CUDA_PATH")


@dataclass
class Job:
    name: str
    work: list
    check: Callable
    environment: dict = field(default_factory=dict)
    bare: bool = False  # also without memtrace
    fails: bool = False  # the program is to die
    rounds: bool = False  # bare, without CUPTI and with it


TRAIN, MEMORY = "work_train.py", "work_memory.py"
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "PYTORCH_ALLOC_CONF": "expandable_segments:True"}
ASYNC = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync", "PYTORCH_ALLOC_CONF": "backend:cudaMallocAsync"}
JOBS = (
    Job("context", [MEMORY, "context"], checks.context),
    Job("train", [TRAIN], checks.backward_lines, bare=True),
    Job("train, hooks alone", [TRAIN], checks.exact, {"MEMTRACE_CUPTI": "off"}),
    Job("expandable segments", [TRAIN], checks.exact, EXPANDABLE),
    Job("expandable, hooks alone", [TRAIN], checks.exact, {**EXPANDABLE, "MEMTRACE_CUPTI": "off"}),
    Job("cudaMallocAsync", [TRAIN, "--no-phases"], checks.exact_async, ASYNC),
    Job("history", [TRAIN, "--history"], checks.history),
    Job("segments", [MEMORY, "segments"], checks.segments),
    Job("reset", [MEMORY, "reset"], checks.reset),
    Job("reset, hooks alone", [MEMORY, "reset"], checks.reset, {"MEMTRACE_CUPTI": "off"}),
    Job("pinned", [MEMORY, "pinned"], checks.pinned),
    Job("graph", [TRAIN, "--graph"], checks.exact),
    Job("profiler", [TRAIN, "--profiler"], checks.profiler, bare=True),
    Job("held", [TRAIN, "--holder"], checks.held),
    Job("out of memory", [MEMORY, "oom"], checks.oom, fails=True),
    Job("loader", [MEMORY, "loader"], checks.loader, bare=True),
    Job("largest, foreach", [TRAIN, "--largest", "--optimizer", "foreach"], checks.temporaries(True)),
    Job("largest, forloop", [TRAIN, "--largest", "--optimizer", "forloop"], checks.temporaries(False)),
    Job("largest, fused", [TRAIN, "--largest", "--optimizer", "fused"], checks.temporaries(False)),
    Job("cost of cudaMalloc", [MEMORY, "malloc"],
        checks.overhead("cudaMalloc and cudaFree", "pair_seconds", (1e6, "us")), rounds=True),
    Job("cost of a step", [TRAIN, "--steps", "20", "--no-phases"],
        checks.overhead("training step", "step_seconds", (1e3, "ms")), rounds=True),
)


class Failed(Exception):
    pass


class Runner:
    def __init__(self, prefix, out):
        self.prefix, self.out = prefix, out
        self.end = time.monotonic() + BUDGET

    def program(self, job, name, environment, traced):
        """The truth that one run said, its files under `name`."""
        kept = {key: os.environ[key] for key in KEEP if key in os.environ}
        kept.update(environment)
        if traced:
            python = os.path.join(self.prefix, "lib", "memtrace", "python")
            kept["LD_PRELOAD"] = os.path.join(self.prefix, "lib", "libmemtrace.so")
            kept["MEMTRACE_OUT"] = os.path.join(name, "trace")
            kept["PYTHONPATH"] = os.pathsep.join(filter(None, (python, kept.get("PYTHONPATH"))))
        os.makedirs(name)
        left = self.end - time.monotonic()
        if left < 5:
            raise Failed("no time left")
        with open(os.path.join(name, "out.txt"), "w+", encoding="utf-8") as out, \
                open(os.path.join(name, "err.txt"), "w+", encoding="utf-8", errors="replace") as err:
            command = [sys.executable, os.path.join(HERE, job.work[0]), *job.work[1:]]
            try:
                status = subprocess.run(command, env=kept, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                                        timeout=min(PATIENCE, left), check=False).returncode
            except subprocess.TimeoutExpired as late:
                raise Failed(f"no end after {late.timeout:.0f} s") from late
            err.seek(0)
            last = err.read().strip().splitlines()[-1:] or [""]
        if (status != 0) != job.fails:
            raise Failed(f"exit {status}: {last[0]}")
        return compare.read_truth_line(os.path.join(name, "out.txt"))

    def memtrace(self, command, folder, *options):
        done = subprocess.run([os.path.join(self.prefix, "bin", "memtrace"), command, os.path.join(folder, "trace"),
                               "--format", "json", *options], capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise Failed(f"memtrace {command}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def job(self, number, job):
        folder = os.path.join(self.out, f"{number:02d}")
        if job.rounds:
            ways = {"bare": None, "off": {"MEMTRACE_CUPTI": "off"}, "auto": {}}
            runs = {way: self.program(job, os.path.join(folder, way), more or {}, more is not None)
                    for way, more in ways.items()}
            return list(job.check(runs))
        bare = self.program(job, os.path.join(folder, "bare"), job.environment, False) if job.bare else None
        traced = os.path.join(folder, "traced")
        truth = self.program(job, traced, job.environment, True)
        if not glob.glob(os.path.join(traced, "trace", "*.memtrace")):
            raise Failed("nothing was recorded")
        run = Run(truth, bare=bare)
        if job.fails:
            run.postmortem = self.memtrace("postmortem", traced)
        else:
            run.report = self.memtrace("report", traced, "--all-steps", "--top", "1000000")
        return list(job.check(run))


def attempt(runner, number, job):
    begin = time.monotonic()
    try:
        rows = runner.job(number, job)
    except (Failed, compare.Unreadable, OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError) as error:
        rows = [Row("the job itself", None, None, False, f"FAILED: {error!r}"[:200])]
    return {"job": job.name, "seconds": round(time.monotonic() - begin, 1), "rows": rows}


def show(value):
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def print_job(result):
    print(f"\n{result['job']}  ({result['seconds']} s)")
    for row in result["rows"]:
        mark = " " if row.ok is None else "+" if row.ok else "!"
        print(f"  {mark} {row.check:<58.58} {show(row.truth):>17.17} {show(row.found):>17.17}  {row.verdict}")
    sys.stdout.flush()


def machine():
    code = ("import json,sys,torch\nprint(json.dumps({'python': sys.version.split()[0], 'torch': torch.__version__, "
            "'cuda': torch.version.cuda, 'device': torch.cuda.get_device_name(0), "
            "'memory': torch.cuda.mem_get_info()[1]}))")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return json.loads(out.strip().splitlines()[-1])


def main():
    prefix, out = (os.path.abspath(path) for path in sys.argv[1:3])
    begin = time.monotonic()
    about = machine()
    about["doctor"] = json.loads(subprocess.run([os.path.join(prefix, "bin", "memtrace"), "doctor", "--format", "json"],
                                                capture_output=True, text=True, check=True).stdout)["checks"]
    print(", ".join(f"{key} {about[key]}" for key in ("device", "torch", "cuda", "python")))
    for check in about["doctor"]:
        print(f"  {'yes' if check['works'] else 'no '} {check['what']}: {check['text']}")
    runner = Runner(prefix, out)
    results = []
    for number, job in enumerate(JOBS):
        results.append(attempt(runner, number, job))
        print_job(results[-1])
    rows = [row for result in results for row in result["rows"] if row.ok is not None]
    wrong = [row for row in rows if not row.ok]
    seconds = round(time.monotonic() - begin)
    with open(os.path.join(out, "gpu_check.json"), "w", encoding="utf-8") as file:
        json.dump({"machine": about, "seconds": seconds, "failed": len(wrong), "checks": len(rows),
                   "jobs": [{**result, "rows": [vars(row) for row in result["rows"]]} for result in results]}, file,
                  indent=1, default=str)
    print(f"\n{len(rows) - len(wrong)} of {len(rows)} checks hold, {seconds} s; as JSON: {out}/gpu_check.json")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
