"""Purpose: tests the recipes for launchers: runs the commands of docs/recipes with the programs beside them.

Truth: the sizes that the programs state, and the lines of their text. What a machine lacks is skipped.
"""
import contextlib
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import harness
import slurm_node

RECIPES = os.path.join(harness.ROOT, "docs", "recipes")
PROGRAMS = os.path.join(RECIPES, "programs")
# Commands of packages that scripts/setup installs without them: the module, and the folder of its packages.
MODULES = {"torchrun": ("torch.distributed.run", None), "accelerate": ("accelerate.commands.accelerate_cli", "accelerate"),
           "deepspeed": ("deepspeed.launcher.runner", "deepspeed")}
STEPS, OUTPUT = 20, 2048 * 512 * 4  # of train.py and lightning_train.py
LIMITS = ("--memory=512m", "--memory-swap=512m", "--shm-size=64m", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024")


def text_of(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def commands(page):
    """Returns the indented lines of a page."""
    return re.findall(r"^    (\S.*)$", re.sub(r"^```.*?^```", "", text_of(RECIPES, page), flags=re.M | re.S), re.M)


def line_of(name, part):
    return next(number for number, line in enumerate(text_of(PROGRAMS, name).splitlines(), 1) if part in line)


def frames_of(row):
    """Returns no frames for the rows of small blocks."""
    return (row["site"] or {"frames": []})["frames"]


def python_with(package):
    """Returns a Python that has the package: MEMTRACE_PACKAGE_PYTHON, as scripts/setup installs none."""
    python = os.environ.get(f"MEMTRACE_{package.upper()}_PYTHON", sys.executable)
    if subprocess.run([python, "-c", f"import {package}"], check=False, capture_output=True).returncode != 0:
        raise unittest.SkipTest(f"{python} has no {package}: MEMTRACE_{package.upper()}_PYTHON names one that has")
    return python


class Recipes(harness.Case):
    def setUp(self):
        super().setUp()
        self.traced = os.path.join(self.scratch, "traced")
        self.bin = os.path.join(self.scratch, "bin")
        os.mkdir(self.bin)
        shutil.copytree(PROGRAMS, self.traced)
        os.symlink(harness.COMMAND, os.path.join(self.bin, "memtrace"))

    def script(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)

    def follow(self, page, beginning, python=None, **environment):
        """Runs the one command of the page that begins so, as it is there, and returns the processes of its job."""
        (command,) = [command for command in commands(page) if command.startswith(beginning)]
        python = python or harness.torch_python()
        self.script("python", f'exec "{python}" "$@"')
        for name, (module, folder) in MODULES.items():
            if re.search(rf"\b{name} ", command):
                packages = f'PYTHONPATH="{harness.packages(folder)}" ' if folder else ""
                self.script(name, f'{packages}exec "{python}" -m {module} "$@"')
        settings = {"PATH": f"{self.bin}:{os.environ['PATH']}", "MEMTRACE_QUIET": "1", "PYTHONWARNINGS": "ignore",
                    "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = self.run_in("traced", ["sh", "-c", command], harness.bare_environment(**{**settings, **environment}))
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-3000:])
        self.out = os.path.join(self.traced, re.search(r"-o (\S+)", command)[1])
        return self.report()["processes"]

    def assert_leak(self, process, file, part, size, steps):
        (leak,) = [finding for finding in process["findings"] if finding["id"] == "leak-per-step"]
        self.assertIn(f"{file}:{line_of(file, part)}", leak["title"])
        self.assertAlmostEqual(leak["bytes"], size, delta=size / 50)
        self.assertAlmostEqual(leak["bytes_at_peak"], size * steps, delta=size * 1.1)

    def assert_only_rank_0_leaks(self, processes, file="train.py", part="output = model(batch)"):
        ranks = [process for process in processes if process.get("rank") is not None]
        self.assertEqual([rank["rank"] for rank in ranks], [0, 1])
        self.assertEqual(processes[0], ranks[0], "the rank that holds more leads")
        self.assert_leak(ranks[0], file, part, OUTPUT, STEPS)
        self.assertEqual([one["id"] for one in ranks[1]["findings"] if one["id"] == "leak-per-step"], [])
        self.assertAlmostEqual(harness.peak(ranks[0], measure="tensor") - harness.peak(ranks[1], measure="tensor"),
                               OUTPUT * (STEPS - 1), delta=OUTPUT)


class Pages(unittest.TestCase):
    def test_each_program_and_page_is_used(self):
        pages = [os.path.basename(page) for page in glob.glob(os.path.join(RECIPES, "*.md"))]
        self.assertTrue(pages)
        for page in pages:
            self.assertIn(f"(recipes/{page})", text_of(harness.ROOT, "docs", "launchers.md"))
            self.assertIn(f": recipes/{page}", text_of(harness.ROOT, "mkdocs.yml"))
        everything = "".join(text_of(RECIPES, page) for page in pages)
        for program in os.listdir(PROGRAMS):
            self.assertIn(f"(programs/{program})", everything)

    def test_the_lines_in_their_output(self):
        """Each FILE:LINE of a page is in the program. A program that changed needs a new run."""
        for page in glob.glob(os.path.join(RECIPES, "*.md")):
            for file, line in re.findall(r"\b(\w+\.py):(\d+)", text_of(page)):
                if os.path.exists(os.path.join(PROGRAMS, file)):
                    self.assertTrue(text_of(PROGRAMS, file).splitlines()[int(line) - 1].strip(), f"{page}: {file}:{line}")


class Launchers(Recipes):
    def test_trainer(self):
        (process,) = self.follow("trainer.md", "memtrace run -o traces/trainer ", PYTHONPATH=harness.packages("accelerate"))
        logits = 8 * 64 * 4096 * 4  # of a batch
        joined = 7 * logits + 8 * logits  # torch.cat of the last batch
        (peak,) = [peak for peak in process["peaks"] if (peak["memory"], peak["measure"]) == ("host", "tensor")]
        rows = [row for row in peak["at_peak"] if any("trainer_pt_utils" in (frame["file"] or "") for frame in frames_of(row))]
        self.assertAlmostEqual(sum(row["bytes"] for row in rows), joined, delta=harness.MIB)

    @harness.only_in_long
    def test_torchrun(self):
        processes = self.follow("torchrun.md", "memtrace run -o traces/torchrun -- torchrun")
        self.assert_only_rank_0_leaks(processes)
        self.assertEqual([process["kind"] for process in processes], ["rank", "rank", "main"])

    @harness.only_in_long
    def test_behind_torchrun(self):
        processes = self.follow("torchrun.md", "torchrun")
        self.assert_only_rank_0_leaks(processes)
        self.assertEqual(len(processes), 2, "the launcher is not traced")

    @harness.only_in_long
    def test_accelerate(self):
        processes = self.follow("accelerate.md", "ACCELERATE_USE_CPU=true")
        self.assertEqual([process["kind"] for process in processes], ["rank", "rank", "main"])
        for rank in processes[:2]:  # relu, the difference, the batch
            self.assert_leak(rank, "accelerate_train.py", "loss = (model", 2048 * (512 + 64 + 64) * 4, 20)

    @harness.only_in_long
    def test_deepspeed(self):
        for beginning, others in (("DS_ACCELERATOR=cpu memtrace", ["child", "main"]), ("DS_ACCELERATOR=cpu deepspeed", [])):
            with self.subTest(beginning):
                processes = self.follow("deepspeed.md", beginning)
                self.assertEqual([process["kind"] for process in processes[:2]], ["rank", "rank"])
                self.assertEqual(sorted(process["kind"] for process in processes[2:]), others)
                for rank in processes[:2]:
                    self.assertGreater(harness.peak(rank, measure="tensor"), 2 * 500_000_000)
                shutil.rmtree(self.out)

    @harness.only_in_long
    def test_lightning(self):
        processes = self.follow("lightning.md", "memtrace run", python_with("lightning"))
        self.assert_only_rank_0_leaks(processes, "lightning_train.py", "output = self.layers(batch)")

    @harness.only_in_long
    def test_mpirun(self):
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun: apt install openmpi-bin")
        self.assert_only_rank_0_leaks(self.follow("mpirun.md", "mpirun -n 2"))

    @harness.only_in_long
    def test_mpirun_to_another_host(self):
        """The stand-in for ssh starts the program with an empty environment, as sshd does."""
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun: apt install openmpi-bin")
        self.script("ssh", 'while [ "${1#-}" != "$1" ]; do shift; done; shift\n'
                           f'exec env -i HOME="$HOME" PATH="{self.bin}:$PATH" OMPI_ALLOW_RUN_AS_ROOT=1 '
                           'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 sh -c "$*"')
        agent = {"OMPI_MCA_plm_rsh_agent": os.path.join(self.bin, "ssh")}
        with self.assertRaises(TypeError, msg="there is no report"):
            self.follow("mpirun.md", "memtrace run -o traces/far -- mpirun --host other -n 1 python", **agent)
        (process,) = self.follow("mpirun.md", "memtrace run -o traces/far -- mpirun --host other -n 1 -x", **agent)
        self.assert_leak(process, "train.py", "output = model(batch)", OUTPUT, STEPS)


class Ray(Recipes):
    @harness.only_in_long
    def test_the_program_starts_it(self):
        self.check_workers(self.follow("ray.md", "memtrace run -o traces/ray", python_with("ray")))

    @harness.only_in_long
    def test_a_cluster_that_runs_already(self):
        python = python_with("ray")
        ray = os.path.join(os.path.dirname(python), "ray")
        with self.cluster(ray):
            self.check_workers(self.follow("ray.md", "memtrace run -o traces/cluster", python))

    @contextlib.contextmanager
    def cluster(self, ray):
        start = ["start", "--head", "--num-cpus=2", "--object-store-memory=104857600", "--include-dashboard=false"]
        subprocess.run([ray, *start, "--disable-usage-stats"], env=harness.bare_environment(), check=True, capture_output=True)
        try:
            yield
        finally:
            subprocess.run([ray, "stop"], env=harness.bare_environment(), check=False, capture_output=True)

    def check_workers(self, processes):
        self.assertEqual(processes[0]["argv"][1:2], ["ray_tasks.py"])
        workers = [process for process in processes if process["kind"] == "worker"]
        held = {}
        for worker in workers:
            for row in worker["peaks"][0]["at_peak"]:
                for frame in frames_of(row):
                    if (frame["file"] or "").endswith("ray_tasks.py"):
                        held[frame["line"]] = held.get(frame["line"], 0) + row["bytes"]
        self.assertAlmostEqual(held[line_of("ray_tasks.py", "self.kept.append")], 8 * 16 << 20, delta=1 << 20)


class Slurm(Recipes):
    @harness.only_in_long
    def test_srun(self):
        why = slurm_node.missing()
        if why:
            self.skipTest(why)
        folder = os.path.join(self.scratch, "slurm")
        os.mkdir(folder)
        with slurm_node.slurm_node(folder) as environment:
            self.script("python", f'exec "{harness.torch_python()}" "$@"')
            settings = {"SLURM_CONF": environment["SLURM_CONF"]}
            self.assert_only_rank_0_leaks(self.follow("slurm.md", "srun -n 2", **settings))
            for setting, works in (("ALL", True), ("NONE", False)):
                said = self.doctor_in_a_job(f"SLURM_EXPORT_ENV={setting}", settings)
                self.assertEqual(said["works"], works, said)
                self.assertIn("was traced" if works else "leaves LD_PRELOAD out", said["text"])

    def doctor_in_a_job(self, setting, settings):
        done = self.run_in("traced", ["srun", "-n", "1", "env", setting, harness.COMMAND, "doctor", "--format", "json"],
                           harness.bare_environment(**settings))
        self.assertEqual(done.returncode, 0, done.stderr)
        return next(check for check in json.loads(done.stdout)["checks"] if check["what"] == "launcher srun")


class Container(Recipes):
    """Podman in place of a cluster: the machine's own files are the image, and what the program writes is discarded."""

    def podman(self, *command):
        runtime = "runc" if shutil.which("runc") else "crun"
        return self.run_in("traced", ["podman", f"--runtime={runtime}", "run", "--rm", "--network=none", *LIMITS, "-v",
                                      f"{self.scratch}:{self.scratch}", "--rootfs", "/:O", *command], harness.bare_environment())

    @harness.only_in_long
    def test_a_pod_that_is_killed(self):
        if os.geteuid() != 0 or not shutil.which("podman"):
            self.skipTest("no podman, or not root: apt install podman runc")
        tried = self.podman("true")
        if tried.returncode != 0:
            self.skipTest(f"podman cannot start a container here: {tried.stderr.decode(errors='replace').strip()}")
        (command,) = re.findall(r"command: \[(.*)\]", text_of(PROGRAMS, "pod.yaml"))
        words = [word.strip(' "') for word in command.split(",")]
        self.out = os.path.join(self.scratch, "job-7")
        words = [{"memtrace": harness.COMMAND, "python": harness.torch_python(), "/traces/job-7": self.out,
                  "train.py": os.path.join(self.traced, "train.py")}.get(word, word) for word in words]
        done = self.podman(*words)
        self.assertEqual(done.returncode, 137, done.stderr)
        self.assertIn(f"train.py:{line_of('train.py', 'output = model(batch)')}", done.stderr.decode())
        (process,) = self.report()["processes"]
        self.assertEqual(process["end"]["how"], "oom_kill")
        self.assertIn(("cgroup", 512 << 20), [(one["of"], one["limit"]) for one in process["headroom"]])
        checks = {check["what"]: check
                  for check in json.loads(self.podman(harness.COMMAND, "doctor", "--format", "json").stdout)["checks"]}
        self.assertIn("limit 0.50 GiB", checks["cgroup"]["text"])
        self.assertIn("64.00 MiB", checks["/dev/shm"]["text"])


if __name__ == "__main__":
    unittest.main()
