"""Purpose: tests that each victim has equal output with and without the tracer, and that its trace can be read.

Each runs bare, with the defaults, recorded from its first block, and with a bound of 1 MiB. Output, status,
files and final descriptors must be equal.
"""
import contextlib
import fcntl
import glob
import os
import re
import shutil
import subprocess
import unittest

import cgroup
import compare
import harness

# (victim, arguments). They end by themselves, so their traces have an end, and no ring remains.
ORDERLY = [
    ("throw",), ("fork",), ("vfork_exec",), ("exec_fail",), ("exec_chain",), ("signal_malloc",), ("longjmp",),
    ("threads",), ("realloc_race",), ("aligned",), ("heap_edges",), ("dlopen",), ("weak",), ("tls_end",), ("chdir",),
    ("unshare",), ("next_fd",), ("own_malloc",), ("environment",), ("fork_race",), ("fork_in_loader",),
    ("exits", "return"), ("exits", "exit"), ("exits", "_exit"), ("exits", "quick_exit"), ("exits", "thread_exit"),
    ("exits", "pthread_exit"),
    ("ucontext",), ("boost_context",), ("io_uring",), ("clock_back",), ("locked",), ("posix_spawn",), ("cancelled",),
    ("profiled",), ("dlmopen",), ("breaks",), ("large_tls",),
    ("first_in_handler",), ("shorter_stack",), ("moved",), ("signal_start",), ("old_hash",), ("replaced_arguments", "one", "two"),
]
# These are above the default MEMTRACE_MIN_PEAK, or have marks, in the process itself or in its child.
LARGE = [("maps",), ("stacks",), ("fixed_address",), ("marks",), ("small_stack",), ("threads_in_child",),
         ("swapped",), ("vfork_first",), ("title",), ("huge_pages", "advised"), ("overcommit",)]
# Victims that end by a signal, by a raw exit or in another process may leave rings: rings survive a kill.
ABRUPT = [
    ("exits", "abort"), ("exits", "segv"), ("exits", "term"), ("clone_vm",), ("daemonise",), ("close_all",), ("raw_exit",),
    ("raw_exit", "inline"), ("raw_exit", "clone"), ("no_counter",),
    ("limits", "nofile"), ("limits", "as"), ("limits", "fsize"), ("many_forks",),
]
# Their final descriptors differ from those of an undisturbed process, or ptrace must not trace them.
NOT_LISTED = {"limits"}
# These victims make the recorder lose events for this reason, which the report states.
LOSSES = {"limits": {"disk", "memory"}, "no_counter": {"sandbox"}, "signal_malloc": {"reentered"}}
# These victims are left out of a build that lacks what they need.
NEEDS = {"boost_context": "the headers of Boost.Context (libboost-context-dev)"}
MODES = (compare.DEFAULTS, compare.RECORDING, compare.BOUNDED)


class Victims(compare.InvisibleCase):
    """The tests are added below, one for each victim."""

    def environment(self, **more):
        """Loads the preload object into the victim alone, not into the program that lists its descriptors."""
        out = super().environment(**more)
        if self.listed:
            out["VICTIM_PRELOAD"] = out.pop("LD_PRELOAD")
        return out

    def run_in(self, folder, command, environment, **options):
        if not self.listed:
            return super().run_in(folder, command, environment, **options)
        path = os.path.join(self.scratch, "descriptors")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        done = super().run_in(folder, [harness.victim("exit_descriptors"), path, *command], environment, **options)
        with open(path, encoding="utf-8") as file:
            lines = sorted(file.read().replace(os.path.join(self.scratch, folder), "").splitlines())
        # Numbers of pipes and sockets differ from run to run, and so do names of deleted files.
        self.descriptors.append([re.sub(r"\[\d+\]|#\d+", "", line) for line in lines])
        return done

    def check_victim(self, arguments, kind, environment=None):
        self.kind, self.descriptors, self.allowed = kind, [], LOSSES.get(arguments[0], set())
        self.listed = arguments[0] not in NOT_LISTED
        self.assert_built(arguments[0])
        records = {"orderly": False, "large": True}.get(kind)
        # on a busy machine events are lost, and their blocks may fill the startup log
        if arguments[0] == "profiled":
            records = None
        bare = self.check([harness.victim(arguments[0]), *arguments[1:]], environment=environment, modes=MODES,
                          records=records, leaves_rings=kind == "abrupt")
        if bare.returncode == 77:
            self.skipTest(f"{' '.join(arguments)}: the kernel refuses it here")
        for listed in self.descriptors[1:]:
            self.assertEqual(listed, self.descriptors[0], "descriptors at the end")

    def assert_built(self, name):
        if os.path.exists(harness.victim(name)):
            return
        sources = glob.glob(os.path.join(harness.ROOT, "tests", "victims", "*", name + ".*"))
        if not sources:
            self.fail(f"there is no tests/victims/*/{name}.c: its name in ORDERLY, LARGE or ABRUPT is wrong")
        if name in NEEDS:
            self.skipTest(f"{name} is not built: it needs {NEEDS[name]}")
        self.fail(f"{harness.victim(name)} is not built: build again (cmake --build --preset dev)")

    def check_report(self, mode, report):
        for process in report["processes"]:
            trace, end = process["trace"], process["end"]
            said = f"pid {process['pid']}: {end}, lost: {trace['lost_reasons']}"
            if mode != "bounded":
                self.assertLessEqual(set(trace["lost_reasons"]), self.allowed, said)
            self.assertEqual(sum(trace["lost_reasons"].values()), trace["lost_events"], said)
            self.assertEqual(trace["damaged_bytes"], 0, said)
            if self.kind != "abrupt":
                self.assertIn(end["how"], ("exit", "exec"), said)
            self.assertGreater(trace["events"], 0, said)


def add(arguments, kind):
    setattr(Victims, "test_" + "_".join(arguments).replace("__", "_"),
            lambda self: self.check_victim(arguments, kind))


for arguments in ORDERLY:
    add(arguments, "orderly")
for arguments in LARGE:
    add(arguments, "large")
for arguments in ABRUPT:
    add(arguments, "abrupt")


class Surroundings(Victims):
    """Victims that need a prepared environment."""

    def test_stopped(self):
        self.check_victim(("stopped", "1500"), "orderly")

    def test_frozen(self):
        folder = f"/sys/fs/cgroup/freezer/memtrace-test-{os.getpid()}"
        try:
            os.mkdir(folder)
        except OSError as error:
            self.skipTest(f"no freezer cgroup of version 1 here: {error}")
        self.addCleanup(os.rmdir, folder)
        self.check_victim(("stopped", "1500", folder), "orderly")

    def test_gevent(self):
        self.listed, self.kind, self.descriptors, self.allowed = True, "large", [], set()
        program = ["/usr/bin/python3", harness.program("greenlets.py")]
        if self.run_in("bare", [program[0], "-c", "import gevent"], harness.bare_environment()).returncode != 0:
            self.skipTest("no gevent for /usr/bin/python3: install python3-gevent")
        self.check(program, modes=MODES, records=None)

    def test_the_malloc_of_a_fixed_address(self):
        self.listed = False
        self.trace([harness.victim("fixed_address")])
        trace = self.only_process(self.report())
        live = [peak["bytes"] for peak in trace["peaks"] if peak["memory"] == "host" and peak["measure"] == "live"]
        self.assertGreaterEqual(live[0], 48 << 20)
        self.assertNotIn("malloc of its own", self.report_text("--all"))

    def test_replaced_directory(self):
        """The directory of the trace is moved away, and its name leads to another one. memtrace must not write
        there."""
        self.listed, self.kind, self.descriptors = True, "abrupt", []
        command = [harness.victim("replaced_directory"), self.out, os.path.join(self.scratch, "other")]
        bare = self.bare(command)
        for mode, settings in MODES:
            with self.subTest(mode):
                self.clean()
                done = self.run_in("traced", command, self.environment(**settings))
                self.assertEqual((done.stdout, done.stderr, done.returncode), (bare.stdout, bare.stderr, bare.returncode))
                self.assertEqual(self.descriptors[-1], self.descriptors[0])
                self.assertEqual(os.listdir(os.path.join(self.scratch, "other")), [])
                if mode != "defaults":
                    self.assertGreater(self.only_process(self.report(path=self.out + ".moved"))["trace"]["events"], 0)

    def clean(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.out)
        for path in (self.out + ".moved", os.path.join(self.scratch, "other")):
            shutil.rmtree(path, ignore_errors=True)


    def test_huge_pages_of_the_pool(self):
        self.set("/proc/sys/vm/nr_hugepages", "8")
        self.check_victim(("huge_pages", "pool"), "orderly")

    def set(self, path, value):
        """Changes a setting of the machine until the test ends; skips the test if that is not allowed."""
        try:
            with open(path, encoding="ascii") as file:
                old = re.sub(r".*\[(\w+)\].*", r"\1", file.read().strip())
            with open(path, "w", encoding="ascii") as file:
                file.write(value)
        except OSError as error:
            self.skipTest(f"{path} cannot be set to {value}: {error}")
        self.addCleanup(self.restore, path, old)

    def restore(self, path, old):
        with open(path, "w", encoding="ascii") as file:
            file.write(old)


class Machine(Surroundings):
    """Changes settings of the whole machine, which affect other programs. Requires MEMTRACE_TEST_MACHINE=1, as
    in scripts/test --long."""

    def setUp(self):
        super().setUp()
        if os.environ.get("MEMTRACE_TEST_MACHINE") != "1":
            self.skipTest("it changes a setting that the whole machine feels: scripts/test --long runs it")

    def test_transparent_huge_pages_always(self):
        self.set("/sys/kernel/mm/transparent_hugepage/enabled", "always")
        for arguments in (("huge_pages", "advised"), ("maps",)):
            with self.subTest(arguments[0]):
                self.check_victim(arguments, "large")

    def test_transparent_huge_pages_never(self):
        self.set("/sys/kernel/mm/transparent_hugepage/enabled", "never")
        self.check_victim(("huge_pages", "advised"), "large")

    def test_overcommit_2(self):
        # The limit itself is far away, because other programs allocate meanwhile.
        self.set("/proc/sys/vm/overcommit_ratio", "1000")
        self.set("/proc/sys/vm/overcommit_memory", "2")
        for arguments, kind in ((("overcommit",), "large"), (("threads",), "orderly"), (("stacks",), "large")):
            with self.subTest(arguments[0]):
                self.check_victim(arguments, kind)

    def test_swap(self):
        path = os.path.join(self.scratch, "swap")
        with open(path, "wb") as file:
            file.write(bytes(96 * harness.MIB))
        os.chmod(path, 0o600)
        for command in (["mkswap", path], ["swapon", path]):
            try:
                subprocess.run(command, check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError) as error:
                self.skipTest(f"no swap file here: {error}")
        self.addCleanup(subprocess.run, ["swapoff", path], check=True)
        group = cgroup.Group("swapped", 32 * harness.MIB)
        self.addCleanup(group.remove)
        self.group = group
        self.check_victim(("swapped",), "large")

    def run_in(self, folder, command, environment, **options):
        if hasattr(self, "group"):
            options["preexec_fn"] = self.group.enter
        return super().run_in(folder, command, environment, **options)


for name in [name for name in vars(Victims) if name.startswith("test_")]:
    setattr(Surroundings, name, None)
for name in [name for name in vars(Surroundings) if name.startswith("test_") and name not in vars(Victims)]:
    setattr(Machine, name, None)


class Levels(harness.Case):
    """Tests the figures of victims with known memory."""

    def test_a_reservation_is_not_memory(self):
        done, report = self.trace([harness.victim("maps")], harness.RECORD_ALL)
        self.assertEqual(done.returncode, 0)
        process = self.only_process(report)
        # The peak has 64 MiB twice: the moved block and its retained old place. It does not have the 64 GiB.
        self.assertGreaterEqual(harness.peak(process), 128 * harness.MIB)
        self.assertLess(harness.peak(process), 140 * harness.MIB)
        self.assert_nothing_lost(process)

    def test_mappings_of_a_program_with_another_allocator(self):
        """The first call maps inside the allocator; that has ended when the program's own mappings come."""
        library = next(iter(sorted(glob.glob("/usr/lib/*/libjemalloc.so.2"))), None)
        if library is None:
            self.skipTest("no libjemalloc.so.2 is installed")
        both = {**self.environment(**harness.RECORD_ALL), "LD_PRELOAD": f"{harness.LIBRARY}:{library}"}
        done = self.run_in("traced", [harness.victim("maps")], both)
        self.assertEqual(done.returncode, 0)
        self.assertGreaterEqual(harness.peak(self.only_process(self.report())), 128 * harness.MIB)

    def test_how_it_ended(self):
        for way, how, code in (("exit", "exit", 11), ("_exit", "exit", 12), ("quick_exit", "exit", 13),
                               ("thread_exit", "exit", 14), ("return", "exit", 10)):
            with self.subTest(way):
                shutil.rmtree(self.out, ignore_errors=True)
                _, report = self.trace([harness.victim("exits"), way], harness.RECORD_ALL)
                end = self.only_process(report)["end"]
                self.assertEqual((end["how"], end["code"]), (how, code))

    def test_the_first_event_of_a_vfork_child(self):
        for way in ((), ("unsaid",)):
            with self.subTest(way):
                shutil.rmtree(self.out, ignore_errors=True)
                done, report = self.trace([harness.victim("vfork_first"), *way], {})
                if done.returncode == 77:
                    self.skipTest("the kernel refuses the filter here")
                process = self.only_process(report)
                self.assertEqual((process["end"]["how"], process["end"]["code"]), ("exit", 0))
                self.assertGreaterEqual(harness.peak(process), 64 * harness.MIB)

    def test_a_failed_exec_is_no_end(self):
        _, report = self.trace([harness.victim("exec_fail")], harness.RECORD_ALL)
        end = self.only_process(report)["end"]
        self.assertEqual((end["how"], end["code"]), ("exit", 3))

    def test_exec_starts_a_new_trace(self):
        _, report = self.trace([harness.victim("exec_chain")], harness.RECORD_ALL)
        ends = sorted(process["end"]["how"] for process in report["processes"])
        self.assertEqual(ends, ["exec"] * 5 + ["exit"])

    def test_children_know_their_parent(self):
        _, report = self.trace(["python3", harness.program("workers.py"), "fork"], harness.RECORD_ALL)
        pids = {process["pid"] for process in report["processes"]}
        parents = [process["ppid"] in pids for process in report["processes"]]
        self.assertEqual(parents.count(False), 1)


if __name__ == "__main__":
    unittest.main()
