"""Purpose: the files that a job has on a shared file system: counts them, reads them, and counts system calls on them. The
base class of the tests about them records a victim that counts its blocks.
"""
import collections
import glob
import os
import re
import shutil
import signal
import struct
import subprocess
import time

import harness
import rawtrace

PAGE = 4096
REST = struct.Struct("<8sII")
PART = struct.Struct("<24sQQ")
CALLS = "openat,creat,write,writev,pwrite64,pwritev,read,pread64,close,fstat,newfstatat,stat,lstat,statx,statfs," \
        "fstatfs,faccessat,access,mkdirat,mkdir,unlinkat,unlink,renameat2,rename,ftruncate,fallocate,getdents64," \
        "sync_file_range,mmap,io_submit"
# What a server of metadata has to answer.
METADATA = {"openat", "creat", "newfstatat", "stat", "lstat", "statx", "statfs", "faccessat", "access", "mkdirat",
            "mkdir", "unlinkat", "unlink", "renameat2", "rename", "ftruncate", "fallocate", "getdents64"}


def unpack(directory):
    """Writes the files in each STEM.rest beside it, as they were. Shares no code with memtrace."""
    for path in glob.glob(os.path.join(directory, "*.rest")):
        with open(path, "rb") as file:
            data = file.read()
        magic, parts, _ = REST.unpack_from(data)
        assert magic == b"MTREST01", magic
        for i in range(parts):
            suffix, offset, size = PART.unpack_from(data, REST.size + i * PART.size)
            content = data[offset:offset + size]
            with open(path[:-len(".rest")] + suffix.rstrip(b"\0").decode(), "wb") as file:
                file.write(content + bytes(size - len(content)))


def files_of_processes(out):
    """Returns the number of files of each process below a job's directory, by its stem."""
    counts = collections.Counter()
    for _, _, names in os.walk(out):
        for name in names:
            stem = re.match(r"(.+-\d+-[0-9a-f]+)\.", name)
            if stem:
                counts[stem.group(1)] += 1
    return counts


def calls_on(log, directory):
    """Returns the counts of the calls on files below the directory in a log of strace -f -y."""
    counts = collections.Counter()
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            call = re.match(r"\d+ +(\w+)\((.*)", line)
            if call and re.search(rf'["<]{re.escape(directory)}[/">]', call.group(2).split(" = ")[0]):
                counts[call.group(1)] += 1
    return counts


def bytes_between_opens(log, stem):
    """Returns the bytes written to the files of a trace after each open of one of them."""
    parts = []
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            if re.search(rf'openat\(.*"{re.escape(stem)}\.', line) and re.search(r" = \d+", line):
                parts.append(0)
            wrote = re.search(rf"pwrite64\(\d+<{re.escape(stem)}\..* = (\d+)$", line)
            if wrote:
                parts[-1] += int(wrote.group(1))
    return parts


def strace(command, environment, log):
    harness.existing("/usr/bin/strace", "strace counts system calls")
    preload = ["-E", f"LD_PRELOAD={environment.pop('LD_PRELOAD')}"]
    return ["strace", "-f", "-y", "-qq", "-o", log, "-e", f"trace={CALLS}", *preload, *command]


def traced_calls(command, environment, log):
    """Starts a command under strace."""
    return subprocess.Popen(strace(command, environment, log), env=environment)


def count_calls(command, environment, log, **options):
    """Runs a command under strace."""
    return subprocess.run(strace(command, environment, log), env=environment, check=True, **options)


class SharedCase(harness.Case):
    def setUp(self):
        super().setUp()
        self.temporary = os.path.join(self.scratch, "temporary")
        os.mkdir(self.temporary)
        self.host = os.path.join(self.out, os.uname().nodename)

    def settings(self, **more):
        return {**harness.RECORD_ALL, "TMPDIR": self.temporary, "MEMTRACE_SHARED": "3600", **more}

    def local_files(self, suffix):
        return glob.glob(os.path.join(self.temporary, f"memtrace-{os.geteuid()}", "shared", "**", "*" + suffix),
                         recursive=True)

    def victim(self, *options):
        page = os.path.join(self.scratch, "page")
        with open(page, "wb") as file:
            file.write(bytes(PAGE))
        return [harness.victim("counting_victim"), page, "--size", "8192", *options]

    def counted(self):
        with open(os.path.join(self.scratch, "page"), "rb") as file:
            return struct.unpack("<Q", file.read(8))[0]

    def births(self, path, size=8192):
        """Returns the number of heap blocks of this size in a trace, from the tests' own reader."""
        records, gaps = rawtrace.read(path)
        self.assertEqual(gaps, 0, "sequence numbers are missing")
        heap = rawtrace.KINDS.index("heap")
        return sum(record.type == "birth" and record.kind == heap and record.words[2] == size for record in records)

    def copies(self):
        return sorted(glob.glob(os.path.join(self.host, "*.memtrace")))

    def only_process_elsewhere(self):
        """Returns the process as another host reports it, which has no local files."""
        moved = os.path.join(self.scratch, "elsewhere")
        shutil.copytree(self.out, moved)
        return self.only_process(self.report(path=moved))

    def kill_at(self, command, settings, delay):
        """Runs the command, kills the victim `delay` seconds after its first block. Returns when the command has
        ended."""
        with subprocess.Popen(command, env=self.environment(**settings), cwd=self.scratch) as process:
            self.addCleanup(process.kill)
            until = time.monotonic() + 60
            while self.counted() == 0:
                self.assertLess(time.monotonic(), until)
                time.sleep(0.001)
            time.sleep(delay)
            os.kill(self.pid_of_victim(process), signal.SIGKILL)
        return process.returncode

    def pid_of_victim(self, process):
        children = subprocess.run(["pgrep", "-P", str(process.pid), "counting_victim"[:15]], capture_output=True,
                                  check=False).stdout.split()
        return int(children[0]) if children else process.pid

    def assert_whole(self):
        """Checks the copy against the victim's own count, without any local file."""
        self.assertEqual(len(self.copies()), 1)
        unpack(self.host)
        self.assertIn(self.births(self.copies()[0]) - self.counted(), (0, 1))
