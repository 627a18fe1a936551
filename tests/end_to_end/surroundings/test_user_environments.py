"""Purpose: tests victims and their traces where users run: without privileges, in container file systems and
filters.

Each environment of the table runs the same programs, bare and traced. Output and status must be equal, the
trace complete, and the figures of the stress program exact. `memtrace doctor` runs inside it, and reports in
one line what the environment prevents.
"""
import dataclasses
import json
import os
import shlex
import stat
import subprocess
import unittest

import harness
import stress

USER = 54321  # no account has this number
NO_RIGHTS = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all",
             "--bounding-set=-all", "--no-new-privs")
PYTHON = "/usr/bin/python3"  # users cannot enter root's home
PROGRAMS = {
    "maps": (harness.victim("maps"),),
    "fork": (harness.victim("fork"), "6"),  # with 50 children, each place took 13 s of CPU time more
    "vfork_exec": (harness.victim("vfork_exec"),),
    "tls_end": (harness.victim("tls_end"),),
    "exit by a thread": (harness.victim("exits"), "thread_exit"),
    "marks": (harness.victim("marks"),),
    # No resource tracker: it outlives its parent, and is killed if the parent is the first process of its
    # namespace.
    "Python's workers": (PYTHON, "-c", "import multiprocessing as m; p = m.get_context('fork').Pool(2); "
                         "print(p.map(len, [bytes(9000), bytes(90000)])); p.close(); p.join()"),
}


@dataclasses.dataclass(frozen=True)
class Place:
    """`setup` runs in a shell as root, in namespaces made by `unshare`; `wrap` precedes the command."""
    name: str
    unshare: tuple = ()
    setup: str = ""
    wrap: tuple = ()
    owner: int = 0
    settings: tuple = ()  # (file of /proc/sys, value), restored at the end
    doctor: tuple = ()  # (what, works, a part of its text) that the doctor must print


PRIVATE = "mount --make-rprivate / && "
# Only the files that the test itself writes are writable.
READ_ONLY = PRIVATE + ("mount --bind $SCRATCH $SCRATCH && mount -o remount,bind,ro / && "
                       "mount -o remount,bind,rw $SCRATCH && ")
PLACES = (
    Place("a user without rights", wrap=NO_RIGHTS, owner=USER, settings=(("kernel/dmesg_restrict", "1"),),
          doctor=(("kernel's log", False, "an administrator"),)),
    Place("a read-only root", ("--mount",), READ_ONLY + "true",
          doctor=(("tracing", True, "traced by"), ("traces", True, "go to "))),
    Place("hidden processes", ("--mount", "--pid", "--fork"),
          PRIVATE + "mount -t proc -o hidepid=2 proc /proc", NO_RIGHTS, USER,
          doctor=(("processes", False, "hidepid"),)),
    Place("Docker's filter", wrap=(harness.victim("docker_filter"),), doctor=(("sandbox", True, "1 filter"),)),
    Place("a small /dev/shm", ("--mount",), PRIVATE + "mount -t tmpfs -o size=64m shm /dev/shm",
          doctor=(("/dev/shm", False, "64.00 MiB"),)),
    Place("a pid namespace", ("--mount", "--pid", "--fork", "--mount-proc"), doctor=(("tracing", True, "traced by"),)),
    Place("a container", ("--mount", "--pid", "--fork", "--ipc", "--uts"),
          READ_ONLY + "mount -t proc proc /proc && mount -t tmpfs -o size=64m,mode=1777 shm /dev/shm",
          (*NO_RIGHTS, harness.victim("docker_filter")), USER, (("kernel/dmesg_restrict", "1"),),
          doctor=(("kernel's log", False, "an administrator"), ("sandbox", True, "1 filter"))),
)


class Environments(harness.Case):
    """The tests are added below, one for each place."""

    def command(self, place, command):
        inner = shlex.join([*place.wrap, *command])
        if not place.unshare:
            return ["sh", "-c", f"exec {inner}"]
        setup = place.setup.replace("$SCRATCH", shlex.quote(self.scratch)) or "true"
        # The status 125 means that the place cannot be made. The trace is of the program in the place.
        return ["unshare", *place.unshare, "sh", "-c", f"{{ {setup}; }} || exit 125; exec {inner}"]

    def inside(self, place, folder, command, traced=None):
        environment = harness.bare_environment(HOME=self.scratch, PYTHONDONTWRITEBYTECODE="1")
        if traced is not None:
            preload = [f"LD_PRELOAD={harness.LIBRARY}", f"MEMTRACE_OUT={self.out}",
                       *(f"{name}={value}" for name, value in traced.items())]
            command = ["env", *preload, *command]
        done = super().run_in(folder, self.command(place, command), environment)
        if done.returncode == 125 or b"unshare failed" in done.stderr or b"unshare: " in done.stderr:
            self.skipTest(f"{place.name}: this machine does not allow it: {done.stderr.decode().strip()[-200:]}")
        return done

    def prepare(self, place):
        if os.geteuid() != 0:
            self.skipTest("only root can make the places")
        for name, value in place.settings:
            self.set(os.path.join("/proc/sys", name), value)
        for folder in ("bare", "traced"):
            os.makedirs(os.path.join(self.scratch, folder), exist_ok=True)
        for path in (self.scratch, *(os.path.join(self.scratch, name) for name in ("bare", "traced"))):
            os.chown(path, place.owner, place.owner)
        for path in (harness.LIBRARY, harness.COMMAND, harness.victim("threads")):
            while path != "/":
                if place.owner and not os.stat(path).st_mode & stat.S_IXOTH:
                    self.skipTest(f"another user cannot reach {path}")
                path = os.path.dirname(path)

    def set(self, path, value):
        try:
            with open(path, encoding="ascii") as file:
                old = file.read()
            with open(path, "w", encoding="ascii") as file:
                file.write(value)
        except OSError as error:
            self.skipTest(f"{path} cannot be set to {value}: {error}")
        self.addCleanup(self.write, path, old)

    def write(self, path, text):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)

    def check_place(self, place):
        self.prepare(place)
        for name, command in PROGRAMS.items():
            with self.subTest(name):
                bare = self.inside(place, "bare", command)
                for settings in ({}, harness.RECORD_ALL):
                    done = self.inside(place, "traced", command, {**settings, "MEMTRACE_QUIET": "1"})
                    self.assertEqual((done.stdout, done.stderr, done.returncode),
                                     (bare.stdout, bare.stderr, bare.returncode))
                self.check_whole(place, name)
        self.check_levels(place)
        self.check_doctor(place)

    def check_whole(self, place, name):
        """The trace is read in its environment, by the user who made it, with the result that root has outside.
        """
        report = self.report()
        self.assertIsNotNone(report, "nothing was recorded")
        for process in report["processes"]:
            said = f"{name}: pid {process['pid']}: {process['end']}, lost: {process['trace']['lost_reasons']}"
            self.assertEqual(process["trace"]["lost_events"], 0, said)
            self.assertIn(process["end"]["how"], ("exit", "exec"), said)
        own = self.inside(place, "bare", [harness.COMMAND, "report", self.out, "--format", "json"])
        self.assertEqual(own.returncode, 0, own.stderr)
        self.assertEqual([process["pid"] for process in json.loads(own.stdout)["processes"]],
                         [process["pid"] for process in report["processes"]])
        subprocess.run(["rm", "-rf", self.out], check=True)

    def check_levels(self, place):
        page = os.path.join(self.scratch, "page")
        base = {}
        for operations in (0, 20):
            with open(page, "wb") as file:
                file.write(bytes(4096))
            os.chown(page, place.owner, place.owner)
            command = [harness.victim("stress"), page, "--threads", "8", "--way", "hold", "--sizes", "large",
                       "--operations", str(operations)]
            done = self.inside(place, "traced", command, harness.RECORD_ALL)
            self.assertEqual(done.returncode, 0, done.stderr)
            truth, process = stress.Truth(page), self.only_process(self.report())
            subprocess.run(["rm", "-rf", self.out], check=True)
            base[operations] = stress.left(process), truth
        self.assertEqual(base[20][0] - base[0][0], base[20][1].left)
        self.assertEqual(harness.peak(process) - base[0][0], truth.held)

    def check_doctor(self, place):
        done = self.inside(place, "bare", [harness.COMMAND, "doctor", "--format", "json"])
        self.assertEqual(done.returncode, 0, done.stderr)
        checks = {check["what"]: check for check in reversed(json.loads(done.stdout)["checks"])}
        for what, works, text in place.doctor:
            self.assertEqual(checks[what]["works"], works, checks[what])
            self.assertIn(text, checks[what]["text"])


def add(place):
    name = place.name.replace("'", "").replace(" ", "_").replace("-", "_").replace("/", "")
    setattr(Environments, f"test_{name}", lambda self: self.check_place(place))


for place in PLACES:
    add(place)


if __name__ == "__main__":
    unittest.main()
