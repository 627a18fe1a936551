"""Purpose: the files that a job has on a shared file system: counts them, reads them, and counts system calls on them.
"""
import collections
import glob
import os
import re
import struct
import subprocess

import harness

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
