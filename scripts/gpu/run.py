"""All jobs of scripts/gpu_check on a machine that has a GPU, in the order of their worth.

usage: run.py PREFIX OUT [SECONDS [JOB...]]   with the Python that has PyTorch
Prints a table of checks with their figures and writes them to OUT/gpu_check.json. A job whose checks all hold in that
file is not run again. Each job's trace lies beside it, packed. Exit 0: all hold; 1: some do not, or a job failed.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Callable, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import checks  # noqa: E402
from checks import Row, Run, compare  # noqa: E402

BUDGET = 460  # seconds for all of it
AT_ONCE = min(6, len(os.sched_getaffinity(0)))  # jobs that only compare what the process itself took, side by side
PACKED = ".memtrace.zst"
ROWS = 200  # of each peak: the JSON of a training step has a table of them for each phase of each step
PATIENCE = 120  # for one program, at least; a quarter of all SECONDS if that is more
KEEP = ("PATH", "HOME", "USER", "TMPDIR", "LANG", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "PYTHONPATH",
        "VIRTUAL_ENV", "TERM", "XDG_CACHE_HOME", "CUDA_HOME", "CUDA_PATH", "TORCH_CUDNN_V8_API_DISABLED")


@dataclass
class Job:
    name: str
    work: list
    check: Callable
    environment: dict = field(default_factory=dict)
    bare: bool = False  # also without memtrace
    fails: bool = False  # the program is to die
    rounds: int = 0  # so many times bare, by hooks and by CUPTI, in turns
    alone: bool = False  # it takes the whole GPU, or reads figures of it, or times
    memory: Optional[str] = checks.MEMORY  # the report is of this alone, a tenth of the JSON; None: of all


TRAIN, MEMORY, SCENES, OTHERS = "work_train.py", "work_memory.py", "work_scenes.py", "work_others.py"
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "PYTORCH_ALLOC_CONF": "expandable_segments:True"}
ASYNC = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync", "PYTORCH_ALLOC_CONF": "backend:cudaMallocAsync"}
REGISTERED = {"PYTORCH_CUDA_ALLOC_CONF": "pinned_use_cuda_host_register:True",
              "PYTORCH_ALLOC_CONF": "pinned_use_cuda_host_register:True"}
CUPTI = {"MEMTRACE_CUPTI": "on"}
LAUNCH_BOUND = ["--parameters", "10.5e6", "--width", "256", "--optimizer", "forloop", "--steps", "100", "--no-phases"]


def scene(name, check=checks.totals, **more):
    return Job(name.replace("_", " "), [SCENES, name], check, **more)


JOBS = (
    Job("train", [TRAIN], checks.backward_lines, bare=True),
    Job("train, by CUPTI", [TRAIN], checks.callbacks, CUPTI),
    Job("profiler", [TRAIN, "--profiler"], checks.profiler, bare=True),
    Job("expandable segments", [TRAIN], checks.hooks, EXPANDABLE),
    Job("expandable segments, by CUPTI", [TRAIN], checks.callbacks, {**EXPANDABLE, **CUPTI}),
    Job("cudaMallocAsync", [TRAIN, "--no-phases"], checks.exact_async, ASYNC),
    Job("history", [TRAIN, "--history"], checks.history),
    Job("segments", [MEMORY, "segments"], checks.segments),
    Job("reset", [MEMORY, "reset"], checks.reset),
    Job("reset, by CUPTI", [MEMORY, "reset"], checks.reset, CUPTI),
    Job("pinned", [MEMORY, "pinned"], checks.pinned, memory=None),
    Job("pinned by registration", [MEMORY, "pinned"], checks.pinned, REGISTERED, memory=None),
    Job("graph", [TRAIN, "--graph"], checks.exact),
    Job("held by another tool", [TRAIN, "--holder"], checks.held, CUPTI),
    Job("another tool comes later", [TRAIN, "--holder-later"], checks.another_tool, bare=True),
    Job("loader", [MEMORY, "loader"], checks.loader, bare=True, memory=None),
    *(scene(name) for name in ("checkpointing", "accumulation", "autocast", "bf16", "empty_cache", "compile", "mempool",
                               "streams", "convolution", "ddp", "fsdp", "transformers")),
    scene("two_cards", checks.cards, memory=None),
    scene("ipc", checks.shared),
    scene("retry", checks.retried),
    scene("to_and_back", checks.to_and_back, memory=None),
    Job("CuPy", [OTHERS, "cupy"], checks.whole, memory=None),
    Job("JAX", [OTHERS, "jax"], checks.whole, memory=None),
    Job("context", [MEMORY, "context"], checks.context, alone=True),
    Job("out of memory", [MEMORY, "oom"], checks.oom, fails=True, alone=True),
    Job("cost of cudaMalloc", [MEMORY, "malloc"],
        checks.overhead("cudaMalloc and cudaFree", "pair_seconds", (1e6, "us")), rounds=2, alone=True),
    Job("cost of small steps", [TRAIN, *LAUNCH_BOUND],
        checks.overhead("launch-bound step", "step_seconds", (1e3, "ms"), "step_cpu_seconds"), rounds=3, alone=True),
    Job("largest, foreach", [TRAIN, "--largest", "--optimizer", "foreach"], checks.temporaries(True), alone=True),
    Job("largest, fused", [TRAIN, "--largest", "--optimizer", "fused"], checks.temporaries(False), alone=True),
    Job("largest, forloop", [TRAIN, "--largest", "--optimizer", "forloop"], checks.temporaries(False), alone=True),
    Job("cost of a step", [TRAIN, "--steps", "20", "--no-phases"],
        checks.overhead("training step", "step_seconds", (1e3, "ms"), "step_cpu_seconds"), rounds=2, alone=True),
)


class Failed(Exception):
    pass


class Runner:
    def __init__(self, prefix, out, seconds=BUDGET):
        self.prefix, self.out = prefix, out
        self.patience = max(PATIENCE, seconds / 4)  # whoever gives more time has a slower machine
        self.end = time.monotonic() + seconds

    def program(self, job, name, environment, traced):
        """The truth that one run said, its files under `name`."""
        kept = {key: os.environ[key] for key in KEEP if key in os.environ}
        kept.update(environment)
        if traced:
            python = os.path.join(self.prefix, "lib", "memtrace", "python")
            kept["LD_PRELOAD"] = os.path.join(self.prefix, "lib", "libmemtrace.so")
            kept["MEMTRACE_OUT"] = os.path.join(name, "trace")
            kept["PYTHONPATH"] = os.pathsep.join(filter(None, (python, kept.get("PYTHONPATH"))))
        shutil.rmtree(name, ignore_errors=True)  # of a run before this one
        os.makedirs(name)
        left = self.end - time.monotonic()
        if left < 5:
            raise Failed("no time left")
        with open(os.path.join(name, "out.txt"), "w+", encoding="utf-8") as out, \
                open(os.path.join(name, "err.txt"), "w+", encoding="utf-8", errors="replace") as err:
            command = [sys.executable, os.path.join(HERE, job.work[0]), *job.work[1:]]
            try:
                status = subprocess.run(command, env=kept, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                                        timeout=min(self.patience, left), check=False).returncode
            except subprocess.TimeoutExpired as late:
                raise Failed(f"no end after {late.timeout:.0f} s") from late
            err.seek(0)
            last = err.read().strip().splitlines()[-1:] or [""]
        if (status != 0) != job.fails:
            raise Failed(f"exit {status}: {last[0]}")
        return compare.read_truth_line(os.path.join(name, "out.txt"))

    def memtrace(self, command, trace, *options):
        done = subprocess.run([os.path.join(self.prefix, "bin", "memtrace"), command, trace,
                               "--format", "json", *options], capture_output=True, text=True, check=False,
                              timeout=self.patience)
        if done.returncode != 0:
            raise Failed(f"memtrace {command}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def timed(self, job, folder):
        """Each figure of each way's runs; the ways take turns, so that all meet the same machine."""
        ways = {"bare": None, "auto": {}, "on": CUPTI, "bare-again": None}
        said = {way: [] for way in ways}
        for turn in range(job.rounds):
            for way, more in ways.items():
                place = os.path.join(folder, f"{way}-{turn}")
                said[way].append(self.program(job, place, more or {}, more is not None))
                shutil.rmtree(os.path.join(place, "trace"), ignore_errors=True)
        return {way: {key: [run[key] for run in runs] for key, value in runs[0].items() if isinstance(value, float)}
                for way, runs in said.items()}

    def pack(self, folder):
        """One file for the trace, which is what a person would send from that machine."""
        trace = os.path.join(folder, "trace")
        if os.path.exists(folder + PACKED):  # of a run before this one: memtrace overwrites no file
            os.unlink(folder + PACKED)
        done = subprocess.run([os.path.join(self.prefix, "bin", "memtrace"), "pack", trace, "-o", folder + PACKED],
                              capture_output=True, text=True, check=False, timeout=self.patience)
        if done.returncode != 0:
            raise Failed(f"memtrace pack: {done.stderr.strip()}")
        shutil.rmtree(trace)

    def folder(self, number, job):
        return os.path.join(self.out, f"{number:02d}-" + job.name.replace(", ", "-").replace(" ", "-"))

    def run(self, job, folder):
        bare = self.program(job, os.path.join(folder, "bare"), job.environment, False) if job.bare else None
        traced = os.path.join(folder, "traced")
        truth = self.program(job, traced, job.environment, True)
        if "missing" in truth:  # a package, or a second GPU: the program did nothing
            return Run(truth)
        if not glob.glob(os.path.join(traced, "trace", "*.memtrace")):
            raise Failed("nothing was recorded")
        self.pack(traced)
        run = Run(truth, bare=bare)
        if job.fails:
            run.postmortem = self.memtrace("postmortem", traced + PACKED)
        else:
            only = ["--memory", job.memory] if job.memory else []
            run.report = self.memtrace("report", traced + PACKED, "--all-steps", "--top", str(ROWS), *only)
        return run

    def job(self, number, job):
        folder = self.folder(number, job)
        return list(job.check(self.timed(job, folder) if job.rounds else self.run(job, folder)))


ERRORS = (Failed, compare.Unreadable, OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError)


def attempt(runner, number, job):
    begin = time.monotonic()
    try:
        rows = runner.job(number, job)
    except ERRORS as error:
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


def known(path):
    """Results of a run before this one, by the job's name: those in which all checks hold."""
    try:
        with open(path, encoding="utf-8") as file:
            jobs = json.load(file)["jobs"]
    except (OSError, ValueError, KeyError):
        return {}
    return {job["job"]: {**job, "rows": [Row(**row) for row in job["rows"]]} for job in jobs
            if all(row["ok"] is not False for row in job["rows"])}


def run_all(runner, jobs, results):
    """Adds each job's result to `results`: first the ones that bear others beside them, then one after the other."""
    def one(job):
        results[job.name] = attempt(runner, JOBS.index(job), job)
        print_job(results[job.name])
    open_jobs = [job for job in jobs if job.name not in results]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, [job for job in open_jobs if not job.alone]))
    for job in open_jobs:
        if job.alone:
            one(job)


def main():
    prefix, out = (os.path.abspath(path) for path in sys.argv[1:3])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else BUDGET
    jobs = [job for job in JOBS if len(sys.argv) < 5 or job.name in sys.argv[4:]]
    begin = time.monotonic()
    about = machine()
    about["doctor"] = json.loads(subprocess.run([os.path.join(prefix, "bin", "memtrace"), "doctor", "--format", "json"],
                                                capture_output=True, text=True, check=True).stdout)["checks"]
    print(", ".join(f"{key} {about[key]}" for key in ("device", "torch", "cuda", "python")))
    for check in about["doctor"]:
        print(f"  {'yes' if check['works'] else 'no '} {check['what']}: {check['text']}")
    path = os.path.join(out, "gpu_check.json")
    results = known(path)
    run_all(Runner(prefix, out, seconds), jobs, results)
    ordered = [results[job.name] for job in JOBS if job.name in results]
    rows = [row for result in ordered for row in result["rows"] if row.ok is not None]
    wrong = [row for row in rows if not row.ok]
    took = round(time.monotonic() - begin)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"machine": about, "seconds": took, "failed": len(wrong), "checks": len(rows),
                   "jobs": [{**result, "rows": [vars(row) for row in result["rows"]]} for result in ordered]}, file,
                  indent=1, default=str)
    print(f"\n{len(rows) - len(wrong)} of {len(rows)} checks hold, {took} s; as JSON: {path}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
