"""Purpose: tests that doctor says of each launcher whether a program behind it is traced, and that `memtrace run` behind
a launcher traces in any case. Also conda's activation, and the workers of multiprocessing.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import harness

HOLDS = "held = bytearray(b'x' * (50 << 20)); print(len(held))"
WORKERS = """
import multiprocessing, os, sys
def work(n):
    held = bytearray(b"x" * (n << 20))
    return os.getpid()
if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(*sorted(set(pool.map(work, [50, 51, 52, 53], chunksize=1))))
        pool.close()
        pool.join()
"""
LOADER = """
import sys, torch
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 16
    def __getitem__(self, index):
        return torch.ones(1 << 21) * index
if __name__ == "__main__":
    model = torch.nn.Linear(8, 8)
    held = torch.ones(10 << 20)
    for batch in torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=2, multiprocessing_context=sys.argv[1]):
        pass
"""


def comm(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:  # it has ended
        return ""


class Doctor(harness.Case):
    """A directory of programs that comes first in PATH."""

    def setUp(self):
        super().setUp()
        self.bin = os.path.join(self.scratch, "bin")
        os.mkdir(self.bin)

    def script(self, name, text, mode=0o755):
        path = os.path.join(self.bin, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def settings(self, **more):
        return harness.bare_environment(PATH=f"{self.bin}:/usr/bin:/bin", **more)

    def doctor(self, **environment):
        done = subprocess.run([harness.COMMAND, "doctor", "--format", "json"], env=self.settings(**environment), check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {check["what"]: check for check in reversed(json.loads(done.stdout)["checks"])}


class Launchers(Doctor):
    def is_traced(self, *command, **environment):
        """True if the program that holds 50 MiB left a trace."""
        shutil.rmtree(self.out, ignore_errors=True)
        done = self.run_in("traced", command, self.settings(MEMTRACE_QUIET="1", **environment))
        self.assertEqual((done.returncode, done.stdout), (0, b"52428800\n"), done.stderr)
        return bool(self.trace_files())

    def check_launcher(self, name, words, passes):
        check = self.doctor()[f"launcher {name}"]
        self.assertEqual(check["works"], passes, check)
        program = [sys.executable, "-c", HOLDS]
        self.assertEqual(self.is_traced(name, *words, *program, LD_PRELOAD=harness.LIBRARY, MEMTRACE_OUT=self.out), passes)
        self.assertTrue(self.is_traced(name, *words, harness.COMMAND, "run", "-o", self.out, "--", *program))
        return check["text"]

    def test_one_that_passes_the_variables_on(self):
        self.script("mpirun", '#!/bin/sh\nshift 2\nexec "$@"\n')
        self.assertIn("was traced; to other hosts only with -x LD_PRELOAD", self.check_launcher("mpirun", ("-n", "1"), True))

    def test_one_that_drops_them(self):
        self.script("mpirun", '#!/bin/sh\nshift 2\nexec env -u LD_PRELOAD "$@"\n')
        self.assertIn("memtrace run -- behind the launcher", self.check_launcher("mpirun", ("-n", "1"), False))

    def test_one_that_starts_with_an_empty_environment(self):
        self.script("conda", '#!/bin/sh\nshift\nexec env -i PATH="$PATH" "$@"\n')
        self.assertIn("left no trace", self.check_launcher("conda", ("run",), False))

    def test_one_that_starts_nothing(self):
        self.script("mpirun", "#!/bin/sh\necho 'no slots' >&2\nexit 3\n")
        check = self.doctor()["launcher mpirun"]
        self.assertFalse(check["works"])
        self.assertIn("it started no program (status 3)", check["text"])

    def test_two_names_of_one_are_one(self):
        self.script("mpirun", '#!/bin/sh\nshift 2\nexec "$@"\n')
        os.symlink("mpirun", os.path.join(self.bin, "mpiexec"))
        checks = self.doctor()
        self.assertIn("launcher mpirun", checks)
        self.assertNotIn("launcher mpiexec", checks)

    def test_those_that_gain_rights(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a file of another user")
        plain = self.doctor().get("launchers that drop LD_PRELOAD", {"text": ""})["text"].partition(":")[0].split(", ")
        self.script("sudo", "#!/bin/sh\n")
        for name in ("doas", "sg", "bwrap"):
            shutil.copy("/bin/true", os.path.join(self.bin, name))
        for name in ("sg", "bwrap"):
            os.chown(os.path.join(self.bin, name), 54321, 54321)
            os.chmod(os.path.join(self.bin, name), 0o4755)
        check = self.doctor()["launchers that drop LD_PRELOAD"]
        self.assertFalse(check["works"])
        self.assertLessEqual({"sudo", "doas", "sg", "bwrap"}, set(check["text"].partition(":")[0].split(", ")))
        self.assertNotIn("sg", plain)
        self.assertIn("sudo memtrace run -- python train.py", check["text"])

    def test_a_program_with_rights_of_its_file_is_not_traced(self):
        """The fact behind that line: the dynamic loader ignores LD_PRELOAD."""
        if os.geteuid() != 0:
            self.skipTest("only root can make a file of another user")
        program = os.path.join(self.bin, "dd-of-another-user")
        shutil.copy("/bin/dd", program)
        command = (program, "if=/dev/zero", "of=/dev/null", "bs=64M", "count=1", "status=none")
        for mode, traced in ((0o755, True), (0o4755, False)):
            os.chown(program, 54321, 54321)
            os.chmod(program, mode)
            shutil.rmtree(self.out, ignore_errors=True)
            done = self.run_in("traced", command, self.environment(MEMTRACE_QUIET="1"))
            self.assertEqual((done.returncode, bool(self.trace_files())), (0, traced), done.stderr)

    def test_run_in_front_of_one_says_why_nothing_was_recorded(self):
        shutil.copy("/bin/env", os.path.join(self.bin, "sudo"))
        done = self.run_in("traced", [harness.COMMAND, "run", "-o", self.out, "--", "sudo", "-i", sys.executable, "-c", HOLDS],
                           self.settings())
        self.assertEqual((done.returncode, done.stdout), (0, b"52428800\n"))
        self.assertEqual(done.stderr, b"memtrace: run: nothing was recorded: sudo clears the environment; put memtrace run -- "
                         b"behind it\n")

    def test_those_that_start_elsewhere(self):
        for name in ("docker", "kubectl"):
            self.script(name, "#!/bin/sh\necho started >>" + os.path.join(self.scratch, "started"))
        check = self.doctor()["launchers to elsewhere"]
        self.assertFalse(check["works"])
        self.assertLessEqual({"docker", "kubectl"}, set(check["text"].partition(":")[0].split(", ")))
        self.assertFalse(os.path.exists(os.path.join(self.scratch, "started")), "doctor does not start them")

    def test_run_in_front_of_one_that_loses_them(self):
        for name, reason in (("docker", "docker starts the program where LD_PRELOAD does not arrive"),
                             ("srun", "srun leaves LD_PRELOAD out if --export or SLURM_EXPORT_ENV does not name it"),
                             ("mpirun", "mpirun passes LD_PRELOAD on to other hosts only with -x LD_PRELOAD")):
            self.script(name, '#!/bin/sh\nexec env -i "$@"\n')
            done = self.run_in("traced", [harness.COMMAND, "run", "-o", self.out, "--", name, sys.executable, "-c", HOLDS],
                               self.settings())
            self.assertEqual((done.returncode, done.stdout), (0, b"52428800\n"), done.stderr)
            self.assertIn(f"memtrace: run: nothing was recorded: {reason}", done.stderr.decode())


class Slurm(Doctor):
    """An srun that passes the variables on or drops them as Slurm's does, and resolves the program's name."""

    def srun(self, **environment):
        self.script("srun", """#!/bin/sh
echo "$*" >>""" + os.path.join(self.scratch, "started") + """
while [ "${1#-}" != "$1" ]; do shift; done
program=$(command -v "$1"); shift
case "$SLURM_EXPORT_ENV" in ""|*ALL*) "$program" "$@";; *) env -i "$program" "$@";; esac
""")
        self.checks = self.doctor(**environment)
        return self.checks["launcher srun"]

    def started(self):
        return os.path.exists(os.path.join(self.scratch, "started"))

    def test_outside_a_job_the_setting_decides(self):
        for setting, works in (({}, True), ({"SLURM_EXPORT_ENV": "ALL,HOME=/x"}, True), ({"SLURM_EXPORT_ENV": "NONE"}, False),
                               ({"SLURM_EXPORT_ENV": "HOME,PATH"}, False)):
            with self.subTest(setting):
                check = self.srun(**setting)
                self.assertEqual(check["works"], works, check)
                self.assertIn("put memtrace run -- behind srun", check["text"])
                self.assertFalse(self.started(), "srun would wait for a node")
        self.assertIn("because SLURM_EXPORT_ENV=HOME,PATH", check["text"])

    def test_inside_a_job_it_is_tried(self):
        job = {"SLURM_JOB_ID": "7", "SLURMD_NODENAME": "node1"}
        check = self.srun(**job)
        self.assertTrue(check["works"], check)
        self.assertIn("a program behind it was traced", check["text"])
        self.assertTrue(self.started())
        check = self.srun(**job, SLURM_EXPORT_ENV="NONE")
        self.assertFalse(check["works"], check)
        self.assertIn("set it to ALL", check["text"])


class DeepSpeed(Doctor):
    def test_its_file_for_other_hosts(self):
        self.script("deepspeed", "#!/bin/sh\n")
        text = self.doctor(HOME=self.scratch)["launcher deepspeed"]["text"]
        self.assertIn("to the hosts of a hostfile it does not pass LD_PRELOAD on", text)
        with open(os.path.join(self.scratch, ".deepspeed_env"), "w", encoding="utf-8") as file:
            file.write("NCCL_DEBUG=INFO\nLD_PRELOAD=/usr/lib/libmemtrace.so\n")
        check = self.doctor(HOME=self.scratch)["launcher deepspeed"]
        self.assertTrue(check["works"], check)
        self.assertIn("to other hosts by its file, which sets LD_PRELOAD", check["text"])


class Ray(Doctor):
    def raylet(self, **environment):
        """Returns doctor's line while a program with the name of Ray's process runs."""
        program = os.path.join(self.bin, "raylet")
        shutil.copy(shutil.which("sleep"), program)
        with subprocess.Popen([program, "600"], env=self.settings(**environment)) as child:
            try:
                return self.doctor()["Ray"], child.pid
            finally:
                child.kill()

    def test_a_cluster_that_runs_already(self):
        if any(comm(path) == "raylet\n" for path in glob.glob("/proc/[0-9]*/comm")):
            self.skipTest("a cluster of Ray runs here")
        self.assertNotIn("Ray", self.doctor())
        check, pid = self.raylet()
        self.assertFalse(check["works"], check)
        self.assertIn(f"raylet (pid {pid}) was started without memtrace", check["text"])
        check, pid = self.raylet(LD_PRELOAD=harness.LIBRARY, MEMTRACE_OUT=self.out)
        self.assertTrue(check["works"], check)
        self.assertIn(f"raylet (pid {pid}) runs with memtrace", check["text"])


class Conda(Doctor):
    """An environment of conda as far as memtrace looks at it."""

    def setUp(self):
        super().setUp()
        self.prefix = os.path.join(self.scratch, "env")
        self.bin = os.path.join(self.prefix, "bin")
        os.makedirs(self.bin)
        os.symlink(sys.executable, os.path.join(self.bin, "python"))

    def conda(self):
        return self.doctor(CONDA_PREFIX=self.prefix)["conda"]

    def activation(self, text):
        self.script(os.path.join(self.prefix, "etc/conda/activate.d/own.sh"), text)
        return self.conda()

    def test_nothing_is_in_the_way(self):
        self.assertNotIn("conda", self.doctor())
        check = self.conda()
        self.assertTrue(check["works"], check)
        self.assertIn(f"{self.prefix}: python is its own", check["text"])

    def test_activation_that_replaces_it(self):
        for text in ("export LD_PRELOAD=/lib/x86_64-linux-gnu/libm.so.6\n", "unset LD_PRELOAD\n"):
            check = self.activation(text)
            self.assertFalse(check["works"], check)
            self.assertIn("own.sh replaces LD_PRELOAD at conda activate", check["text"])

    def test_activation_that_keeps_it(self):
        self.assertTrue(self.activation('export LD_PRELOAD="$LD_PRELOAD:/lib/x86_64-linux-gnu/libm.so.6"\n')["works"])
        self.assertTrue(self.activation("export OTHER=1 # not LD_PRELOAD\n")["works"])

    def test_a_variable_of_the_environment(self):
        self.script(os.path.join(self.prefix, "conda-meta/state"), '{"env_vars": {"LD_PRELOAD": "/x.so"}}', 0o644)
        check = self.conda()
        self.assertFalse(check["works"], check)
        self.assertIn("conda-meta/state has a variable LD_PRELOAD", check["text"])

    def test_another_python_comes_first(self):
        os.remove(os.path.join(self.bin, "python"))
        check = self.conda()
        self.assertFalse(check["works"], check)
        self.assertIn("activate the environment again", check["text"])


class Workers(harness.Case):
    def pythons(self):
        """Returns this Python and the newest one. Not pyenv's scripts, which start another one."""
        found = [*glob.glob("/usr/bin/python3.*"), *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3.*"))]
        found = [path for path in found if re.fullmatch(r"python3\.\d+", os.path.basename(path))]
        return {os.path.realpath(sys.executable), *sorted(found, key=lambda path: int(path.rpartition(".")[2]))[-1:]}

    def file(self, text):
        path = os.path.join(self.scratch, "workers.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_children_of_each_start_method(self):
        for python in self.pythons():
            for method in ("fork", "forkserver", "spawn"):
                with self.subTest(f"{python} {method}"):
                    shutil.rmtree(self.out, ignore_errors=True)
                    done, report = self.trace([python, self.file(WORKERS), method], {"MEMTRACE_QUIET": "1"})
                    self.assertEqual((done.returncode, done.stderr), (0, b""))
                    self.assertEqual([str(pid) for pid in sorted(process["pid"] for process in report["processes"])],
                                     done.stdout.decode().split())
                    for process in report["processes"]:
                        self.assertEqual(process["kind"], "child")
                        lines = {(frame["file"], frame["line"]) for site in process["sites"].values()
                                 for frame in site["frames"]}
                        self.assertTrue((os.path.join(self.scratch, "workers.py"), 4) in lines, "line 4 holds the bytes")

    def test_workers_of_a_loader(self):
        for method in ("forkserver", "spawn"):
            with self.subTest(method):
                shutil.rmtree(self.out, ignore_errors=True)
                done, report = self.trace([harness.torch_python(), self.file(LOADER), method], {"MEMTRACE_QUIET": "1"})
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                kinds = [process["kind"] for process in report["processes"]]
                self.assertEqual((kinds.count("main"), kinds.count("worker")), (1, 2), kinds)

    def test_doctor_tries_them(self):
        done = subprocess.run([harness.COMMAND, "doctor", "--format", "json"], env=harness.bare_environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=120)
        check = {check["what"]: check for check in json.loads(done.stdout)["checks"]}["workers"]
        self.assertTrue(check["works"], check)
        self.assertIn("started by fork, forkserver, spawn: traced", check["text"])


if __name__ == "__main__":
    unittest.main()
