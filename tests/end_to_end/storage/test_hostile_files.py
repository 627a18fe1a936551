"""Purpose: tests hostile entries of another user at names that memtrace uses: no program hangs, and no file
changes."""
import glob
import os
import signal
import socket
import stat
import subprocess
import unittest

import harness

HOST = os.uname().nodename
OTHER = 65534  # the user who plants entries, or whose program is traced
THIRD = 64999  # a user without a directory in /tmp
PROGRAM = ["/bin/sh", "-c", "echo to stdout; echo to stderr >&2; exit 7"]
TIME_TO_HANG = 60  # seconds: far more than any of the programs needs
TIB = 1 << 40


def fifo(path, _):
    os.mkfifo(path, 0o666)


def link(path, bystander):
    os.symlink(bystander, path)


def link_to_zero(path, _):
    os.symlink("/dev/zero", path)


def dangling_link(path, bystander):
    os.symlink(bystander + "-that-is-not-there", path)


def directory(path, _):
    os.mkdir(path, 0o777)


def local_socket(path, _):
    here = os.getcwd()
    os.chdir(os.path.dirname(path))  # a socket's path has at most 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as listens:
            listens.bind(os.path.basename(path))
    finally:
        os.chdir(here)


def device(path, _):
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))


def file_of_another(path, _):
    with open(path, "w", encoding="utf-8") as file:
        file.write("not ours\n")
    os.chmod(path, 0o666)


def hard_link(path, bystander):
    os.link(bystander, path)


def sparse_file(path, _):
    with open(path, "wb") as file:
        file.truncate(TIB)


def unreadable(path, _):
    file_of_another(path, _)
    os.chmod(path, 0)


KINDS = (fifo, link, link_to_zero, dangling_link, directory, local_socket, device, file_of_another, hard_link,
         sparse_file, unreadable)


def look(path):
    """Returns all properties that show a change of a file."""
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return None
    content = None
    if stat.S_ISREG(info.st_mode) and info.st_size < 1 << 20:
        with open(path, "rb") as file:
            content = file.read()
    return (info.st_mode, info.st_uid, info.st_size, info.st_ino, content)


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("not root: no entry of another user can be made")
        os.chmod(self.scratch, 0o755)
        readable = subprocess.run(["test", "-r", harness.LIBRARY], user=OTHER, check=False).returncode == 0
        if not readable:
            self.skipTest("another user cannot read the build")
        self.temporary = self.shared("temporary")

    def shared(self, name):
        """Makes a directory that all users may write to, like /tmp."""
        path = os.path.join(self.scratch, name)
        os.mkdir(path)
        os.chmod(path, 0o1777)
        return path

    def plant(self, kind, path, owner, bystander):
        with open(bystander, "w", encoding="utf-8") as file:
            file.write("a secret of its owner\n")
        os.chmod(bystander, 0o600)
        try:
            kind(path, bystander)
        except PermissionError as error:
            self.skipTest(f"no {kind.__name__} can be made: {error}")
        if kind is not hard_link:  # a hard link is the bystander itself
            os.lchown(path, owner, owner)

    def end(self, command, environment, user):
        """Runs a program and checks that it does not hang."""
        try:
            return subprocess.run(command, env=environment, cwd="/", user=user, group=user, extra_groups=[], check=False,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=TIME_TO_HANG)
        except subprocess.TimeoutExpired:
            self.fail(f"{command[0]} hangs")

    def run_traced(self, out, user, **settings):
        """stderr has one line of memtrace; all other effects are as without it."""
        environment = harness.bare_environment(LD_PRELOAD=harness.LIBRARY, MEMTRACE_OUT=out,
                                               **{**harness.RECORD_ALL, "MEMTRACE_QUIET": "", "TMPDIR": self.temporary,
                                                  **settings})
        done = self.end(PROGRAM, environment, user)
        own = [line for line in done.stderr.decode().splitlines(True) if line.startswith("memtrace: ")]
        self.assertEqual((done.returncode, done.stdout, done.stderr.decode().replace("".join(own), "")),
                         (7, b"to stdout\n", "to stderr\n"))
        self.assertEqual(len(own), 1, own)
        return own[0]


class Recorder(Case):
    def try_all(self, name, user, prepare=None):
        """Tries each kind of entry of another user at this name, in its own directory."""
        owner = 0 if user == OTHER else OTHER
        for kind in KINDS:
            with self.subTest(kind=kind.__name__):
                out = self.shared(kind.__name__)
                if prepare is not None:
                    prepare(out)
                bystander = os.path.join(self.scratch, f"bystander-{kind.__name__}")
                path = os.path.join(out, name)
                self.plant(kind, path, owner, bystander)
                if kind is hard_link:
                    os.chown(bystander, user, user)  # a second name for a file of the traced user
                before = look(path), look(bystander), look("/dev/zero")
                line = self.run_traced(out, user)
                self.assertIn("memtrace: recording to", line)
                self.assertEqual((look(path), look(bystander), look("/dev/zero")), before)
                self.assertFalse(os.path.exists(bystander + "-that-is-not-there"))

    def test_job_of_root(self):
        self.try_all("job", 0)

    def test_job_of_another(self):
        self.try_all("job", OTHER)

    def test_claims_of_root(self):
        self.try_all(f"node-{HOST}", 0)

    def test_claims_of_another(self):
        self.try_all(f"node-{HOST}", OTHER)

    def test_second_job(self):
        def first(out):
            with open(os.path.join(out, "job"), "w", encoding="utf-8") as file:
                file.write(f"job=first\nhost={HOST}\nattempt=1\nbegan=1\ncommand=1\n")
        self.try_all("job-2", 0, first)

    def test_rings_that_a_claim_names(self):
        def claimed(out):
            with open(os.path.join(out, "job"), "w", encoding="utf-8") as file:
                file.write(f"job=first\nhost={HOST}\nattempt=1\nbegan=1\ncommand=1\n")
            with open(os.path.join(out, f"node-{HOST}"), "w", encoding="utf-8") as file:
                file.write(f"{1 << 20:020} {HOST}-1-{1 << 60:016x} {out}/planted.rings\n")
        self.try_all("planted.rings", 0, claimed)

    def test_windows(self):
        """Tests names beside a trace that has begun."""
        for number, kind in enumerate(KINDS):
            with self.subTest(kind=kind.__name__):
                out = self.shared(f"windows-{number}")
                environment = harness.bare_environment(
                    LD_PRELOAD=harness.LIBRARY, MEMTRACE_OUT=out, TMPDIR=self.temporary, MEMTRACE_MAX_TRACE="1M",
                    MEMTRACE_STACKS="none", **harness.RECORD_ALL)
                with subprocess.Popen(["/usr/bin/python3", harness.program("blocks.py"), "3"], env=environment, cwd="/",
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
                    program.stdout.readline()
                    stem = glob.glob(os.path.join(out, "*.memtrace"))[0][:-len(".memtrace")]
                    planted = [stem + suffix for suffix in (".window-0", ".window-1", ".window-2", ".window-3", ".coarse",
                                                            ".ends", ".evidence")]
                    planted = [path for path in planted if not os.path.lexists(path)]
                    bystanders = [f"{stem}-bystander-{i}" for i in range(len(planted))]
                    for path, bystander in zip(planted, bystanders):
                        self.plant(kind, path, OTHER, bystander)
                    before = [look(path) for path in bystanders]
                    said, errors = program.communicate(b"\n\n\n", timeout=TIME_TO_HANG)
                self.assertEqual((program.returncode, said, errors), (7, b"round 1\nround 2\n", b"to stderr\n"))
                self.assertEqual([look(path) for path in bystanders if kind is not hard_link],
                                 before if kind is not hard_link else [])
                if kind is hard_link:  # removing one name does not change the file
                    self.assertEqual([look(path)[4] for path in bystanders], [b"a secret of its owner\n"] * len(bystanders))


class Fallback(Case):
    def blocked(self):
        path = os.path.join(self.scratch, "file")
        with open(path, "wb"):
            pass
        return os.path.join(path, "out")

    def check_refused(self, reason, user, place):
        line = self.run_traced(self.blocked(), user, TMPDIR=os.path.dirname(place))
        self.assertEqual(line, f"memtrace: not recording: no trace can be written in {self.blocked()} (not a directory) "
                               f"nor in {place} ({reason}): set MEMTRACE_OUT to a directory of yours\n")

    def test_a_directory_of_its_own(self):
        for user in (0, OTHER):
            for _ in range(2):
                self.assertIn(f"recording to {self.temporary}/memtrace-{user}/", self.run_traced(self.blocked(), user))
            info = os.stat(os.path.join(self.temporary, f"memtrace-{user}"))
            self.assertEqual((info.st_uid, stat.S_IMODE(info.st_mode)), (user, 0o700))

    def test_what_another_user_put_there(self):
        place = f"/tmp/memtrace-{THIRD}"
        if os.path.lexists(place):
            self.skipTest(f"{place} is there")
        elsewhere = self.shared("elsewhere")
        cases = [("it belongs to another user", lambda: os.mkdir(place, 0o755), os.rmdir),
                 ("it is a link", lambda: os.symlink(elsewhere, place), os.unlink),
                 ("not a directory", lambda: open(place, "wb").close(), os.unlink)]
        for reason, make, remove in cases:
            with self.subTest(reason):
                make()
                try:
                    self.check_refused(reason, THIRD, place)
                finally:
                    remove(place)
        os.mkdir(place)
        try:
            os.chown(place, THIRD, THIRD)
            os.chmod(place, 0o777)
            self.check_refused("other users can write in it", THIRD, place)
        finally:
            os.rmdir(place)
        self.assertEqual(os.listdir(elsewhere), [])

    def test_modes(self):
        os.umask(0o022)
        self.run_traced(os.path.join(self.temporary, "a", "b"), 0)
        modes = [stat.S_IMODE(os.stat(os.path.join(self.temporary, name)).st_mode) for name in ("a", "a/b")]
        self.assertEqual(modes, [0o700, 0o755])


class Analyzer(Case):
    def setUp(self):
        super().setUp()
        self.job = os.path.join(self.scratch, "killed")
        environment = harness.bare_environment(LD_PRELOAD=harness.LIBRARY, MEMTRACE_OUT=self.job, **harness.RECORD_ALL)
        done = subprocess.run(["/bin/sh", "-c", "kill -9 $$"], env=environment, check=False, cwd="/")
        self.assertEqual(done.returncode, -signal.SIGKILL)
        self.stem, = [path[:-len(".memtrace")] for path in glob.glob(os.path.join(self.job, "*.memtrace"))]
        self.stem = os.path.basename(self.stem)

    def copy(self, name):
        path = self.shared(name)
        subprocess.run(["cp", "-a", self.job + "/.", path], check=True)
        os.chmod(path, 0o1777)
        return path

    def analyze(self, arguments, user=0):
        done = self.end([harness.COMMAND, *arguments], harness.bare_environment(), user)
        self.assertIn(done.returncode, (0, 2), done.stderr)
        if done.returncode == 2:
            self.assertRegex(done.stderr.decode(), r"\Amemtrace: [^\n]+\n\Z")
        return done

    def test_files_beside_a_trace(self):
        names = ["job", "job-2", f"node-{HOST}", "other.memtrace", "some.ends", "memtrace.orphans"]
        names += [self.stem + suffix for suffix in (".memtrace", ".rings", ".coarse", ".window-0", ".window-3", ".ends",
                                                    ".evidence", ".evidence.1")]
        for name in names:
            for kind in KINDS:
                with self.subTest(name=name.replace(self.stem, "STEM"), kind=kind.__name__):
                    out = self.copy(f"{name}-{kind.__name__}")
                    path, bystander = os.path.join(out, name), os.path.join(self.scratch, f"by-{name}-{kind.__name__}")
                    if os.path.exists(path):
                        os.unlink(path)
                    self.plant(kind, path, OTHER, bystander)
                    before = look(bystander), look(path)
                    done = self.analyze(["report", out])
                    if name != self.stem + ".memtrace":
                        self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(look(bystander), before[0])
                    if name != self.stem + ".evidence":  # the evidence file is replaced
                        self.assertEqual(look(path), before[1])

    def test_a_link_at_the_name_of_new_evidence(self):
        out = self.copy("new-evidence")
        bystander = os.path.join(self.scratch, "bystander")
        plant = ("import os, sys\n"
                 "open(sys.argv[1], 'w').write('a secret')\n"
                 "os.symlink(sys.argv[1], f'{sys.argv[2]}.evidence.{os.getpid()}')\n"
                 "os.execv(sys.argv[3], sys.argv[3:])\n")
        done = self.end(["/usr/bin/python3", "-c", plant, bystander, os.path.join(out, self.stem), harness.COMMAND,
                         "report", out], harness.bare_environment(), 0)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(bystander, encoding="utf-8") as file:
            self.assertEqual(file.read(), "a secret")
        self.assertTrue(os.path.isfile(os.path.join(out, self.stem + ".evidence")), "it was kept under another name first")

    def test_as_another_user(self):
        out = self.copy("read-only")
        os.chmod(out, 0o755)
        done = self.analyze(["report", out], OTHER)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"evidence is not kept", done.stderr)

    def test_files_that_the_user_names(self):
        for kind in KINDS:
            with self.subTest(kind=kind.__name__):
                path, bystander = (os.path.join(self.scratch, name + kind.__name__) for name in ("named-", "named-by-"))
                self.plant(kind, path, OTHER, bystander)
                if kind is fifo:
                    continue  # tested below, because it takes long
                for arguments in (["report", path], ["postmortem", self.job, "--evidence", path]):
                    if kind in (link, hard_link, directory) and arguments[0] == "report":
                        continue  # a directory means its newest job
                    self.assertEqual(self.analyze(arguments).returncode, 2, arguments)
        path = os.path.join(self.scratch, "named-fifo")
        waits = [subprocess.Popen([harness.COMMAND, *arguments], env=harness.bare_environment(), stderr=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL)
                 for arguments in (["report", path], ["postmortem", self.job, "--evidence", path])]
        for program in waits:
            with program:
                errors = program.communicate(timeout=TIME_TO_HANG)[1]
                self.assertEqual(program.returncode, 2)
                self.assertRegex(errors.decode(), r"\Amemtrace: [^\n]*no byte came for 20 s[^\n]*\n\Z")

    def test_links_and_pipes_that_the_user_names(self):
        trace = os.path.join(self.job, self.stem + ".memtrace")
        plain = self.analyze(["report", trace, "--format", "json"])
        self.assertEqual(plain.returncode, 0)
        named = os.path.join(self.scratch, "link")
        os.symlink(trace, named)
        self.assertEqual(self.analyze(["report", named]).returncode, 0)
        with open(trace, "rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
            done = subprocess.run([harness.COMMAND, "report", "/dev/stdin"], stdin=cat.stdout, check=False,
                                  env=harness.bare_environment(), capture_output=True, timeout=TIME_TO_HANG)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"sh", done.stdout)
        kernel = b"Jun  1 00:00:00 node kernel: Out of memory: Killed process 1 (x) total-vm:4kB, anon-rss:4kB, file-rss:0kB\n"
        done = subprocess.run([harness.COMMAND, "postmortem", self.job, "--evidence", "/dev/stdin"], input=kernel,
                              check=False, env=harness.bare_environment(), capture_output=True, timeout=TIME_TO_HANG)
        self.assertEqual(done.returncode, 0, done.stderr)


class Shown(Case):
    def test_names_do_not_steer_a_terminal(self):
        out = os.path.join(self.temporary, "a\x1b[31m\nmemtrace: b\u202ec")
        line = self.run_traced(out, 0)
        self.assertEqual(line, f"memtrace: recording to {self.temporary}/a\\x1b[31m\\x0amemtrace: b\\xe2\\x80\\xaec\n")
        environment = harness.bare_environment(LD_PRELOAD=harness.LIBRARY, MEMTRACE_STACKS="x\x1b[2J\ny", MEMTRACE_OUT=out)
        done = self.end(["/bin/true"], environment, 0)
        self.assertEqual(done.stderr.decode(), "memtrace: MEMTRACE_STACKS=x\\x1b[2J\\x0ay cannot be read (expected python, "
                                               "native, both or none): the default is used\n")
        done = self.analyze_text(out)
        self.assertNotRegex(done.stdout.decode(), "[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]")

    def analyze_text(self, path):
        done = self.end([harness.COMMAND, "report", path], harness.bare_environment(), 0)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done


if __name__ == "__main__":
    unittest.main()
