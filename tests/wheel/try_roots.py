#!/usr/bin/env python3
"""Purpose: installs the wheel in roots of other distributions, and traces a program there.

usage: try_roots.py WHEEL ROOT...

ROOT is a folder with a system that has python3 and its venv module, as from
    debootstrap --variant=minbase --include=python3-venv bullseye ROOT
In each: a fresh venv, pip install without a network, a run, its report, a kill and its post-mortem. No compiler may be
there. Then the same as a user without a name, in a user namespace, with a root that cannot be written, 64 MiB of /dev/shm
and no network. Must run as root. Prints a row for each root; exits with 1 if any step failed.
"""
import json
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
INSIDE = "/memtrace-wheel-test"
USER = 54321
COMPILERS = ("gcc", "cc", "clang", "g++", "tcc")


class Failed(Exception):
    pass


def in_root(root, command, environment=None):
    """Runs a command in the root, without a network."""
    return run(["unshare", "--net", "--pid", "--fork", "--mount", f"--mount-proc={root}/proc", "chroot", root, *command],
               environment)


# Two namespaces: in the outer one the user may mount, in the inner one it has a number that no file gives a name.
PLACE = """
mount --rbind "$1" "$1" && mount -o remount,bind,ro "$1" &&
mount -t proc proc "$1/proc" && mount -t tmpfs -o mode=1777 tmp "$1/tmp" &&
mount -t tmpfs -o size=64m,mode=1777 shm "$1/dev/shm" && root=$1 && shift &&
exec unshare --user --map-user={user} --map-group={user} --root="$root" "$@"
"""


def as_unnamed_user(root, command, environment=None):
    """Runs a command in the root as a user without a name. The root cannot be written; /tmp can."""
    outer = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "unshare", "--user", "--map-root-user",
             "--mount", "--net", "--pid", "--fork", "sh", "-c", PLACE.format(user=USER), "place"]
    return run([*outer, root, *command], environment)


def run(command, environment=None):
    # What the machine's pip is set to has no meaning in the root.
    kept = {"PATH": f"{INSIDE}/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
    return subprocess.run(command, env={**kept, **(environment or {})}, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=600)


def expect(done, status, *texts):
    out = done.stdout + done.stderr
    if done.returncode != status or any(text not in out for text in texts):
        raise Failed(f"{done.args[-6:]}: status {done.returncode}, expected {status} and {texts}\n{out[-2000:]}")
    return done.stdout


def size_of(folder):
    total = 0
    for place, _, files in os.walk(folder):
        total += sum(os.lstat(os.path.join(place, name)).st_size for name in files)
    return total


def trace_and_read(enter, root, out):
    """Runs the program twice, once to its end, and checks both reports by the figures in train.py."""
    train = ["python", f"{INSIDE}/train.py"]
    began = time.monotonic()
    expect(enter(root, ["memtrace", "run", "-o", f"{out}/whole", "--", *train]), 0, "memtrace: recording to ")
    report = json.loads(expect(enter(root, ["memtrace", "report", f"{out}/whole", "--format", "json"]), 0))
    seconds = time.monotonic() - began
    process = report["processes"][0]
    levels = {peak["measure"]: peak["bytes"] for peak in process["peaks"] if peak["memory"] == "host"}
    if not 160 * MIB <= levels["live"] <= 170 * MIB:
        raise Failed(f"160 MiB were allocated, and {levels['live'] / MIB} MiB are in the report")
    lines = {row["site"]["frames"][0]["file"].rsplit("/", 1)[-1] for peak in process["peaks"] for row in peak["at_peak"]
             if row["site"] and row["bytes"] >= 80 * MIB}
    if "train.py" not in lines or process["trace"]["lost_events"]:
        raise Failed(f"lines of the large blocks: {lines}; lost events: {process['trace']['lost_events']}")
    expect(enter(root, ["env", "DIE=1", "memtrace", "run", "-o", f"{out}/killed", "--", *train]), 137)
    expect(enter(root, ["memtrace", "postmortem", f"{out}/killed"]), 0, "Killed (SIGKILL)", "train.py:")
    return seconds


def try_root(wheel, root):
    inside = root + INSIDE
    shutil.rmtree(inside, ignore_errors=True)
    os.mkdir(inside)
    for path in (wheel, os.path.join(HERE, "train.py")):
        shutil.copy(path, inside)
    found = [name for name in COMPILERS if expect(in_root(root, ["sh", "-c", f"command -v {name} || true"]), 0)]
    version = expect(in_root(root, ["python3", "-c", "import platform as p; print(p.python_version(), p.libc_ver()[1])"]), 0)
    python, glibc = version.split()
    expect(in_root(root, ["python3", "-m", "venv", f"{INSIDE}/venv"]), 0)
    before, began = size_of(inside), time.monotonic()
    expect(in_root(root, ["pip", "install", "-q", "--no-index", f"{INSIDE}/{os.path.basename(wheel)}"]), 0)
    install, megabytes = time.monotonic() - began, (size_of(inside) - before) / 1e6
    expect(in_root(root, ["python", "-m", "memtrace", "--version"]), 0, "memtrace ")
    expect(in_root(root, ["memtrace", "doctor"]), 0, "yes tracing: a process was traced by")
    first = trace_and_read(in_root, root, f"{INSIDE}/out")
    # What every user can read, as an image has it.
    subprocess.run(["chmod", "-R", "a+rX", inside], check=True)
    unnamed = trace_in_tmp(root)
    return (os.path.basename(os.path.normpath(root)), glibc, python, " ".join(found) or "none", f"{install:.1f}",
            f"{megabytes:.1f}", f"{first:.1f}", f"{unnamed:.1f}")


def trace_in_tmp(root):
    script = (f"set -e; cd {INSIDE}; id -u; ! touch /written 2>/dev/null; "
              "memtrace run -o /tmp/out/whole -- python train.py; memtrace report /tmp/out/whole; "
              "DIE=1 memtrace run -o /tmp/out/killed -- python train.py && exit 1; memtrace postmortem /tmp/out/killed; "
              "memtrace run -- python train.py; ls -d /tmp/memtrace-*; memtrace doctor")
    began = time.monotonic()
    out = expect(as_unnamed_user(root, ["sh", "-c", script]), 0, "train.py:12 80.00 MiB", "Killed (SIGKILL)",
                 "yes tracing: a process was traced by", f"/tmp/memtrace-{USER}", "/dev/shm: has 64.00 MiB")
    if out.split()[0] != str(USER):
        raise Failed(f"the user is {out.split()[0]}")
    return time.monotonic() - began


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    names = ("root", "glibc", "Python", "compilers", "install, s", "MB", "run and report, s", "without a name, s")
    rows, failed = [names], False
    for root in sys.argv[2:]:
        try:
            rows.append(try_root(os.path.abspath(sys.argv[1]), os.path.abspath(root)))
        except Failed as error:
            failed = True
            print(f"{root}: {error}", file=sys.stderr)
    widths = [max(len(row[i]) for row in rows) for i in range(len(names))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
