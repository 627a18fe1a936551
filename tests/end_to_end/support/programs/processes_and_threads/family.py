"""Purpose: runs a parent and children, one of which takes memory until it is killed.

usage: family.py CHILDREN EATER MIB [--enter GROUP]   the child EATER (from 0) takes up to MIB, 1 MiB at a
time;
with --enter it first moves itself into the cgroup directory GROUP. The other children hold 48 MiB until it
ends. The OOM killer chooses the eater first.
"""
import os
import sys
import time

MIB = 1 << 20


def be_chosen_first():
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")


def eat(mib):
    held = []
    for _ in range(mib):
        held.append(bytearray(os.urandom(1024) * 1024))
        time.sleep(0.002)
    return held


def child(eats, mib, group, told):
    held = bytearray(os.urandom(1024)) * (48 * 1024)
    if eats:
        be_chosen_first()
        if group:
            with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as file:
                file.write(str(os.getpid()))
        held = [held, eat(mib)]
    else:
        os.read(told, 1)  # until the parent has closed the other end
        time.sleep(0.2)
    return len(held)


def main():
    children, eater, mib = (int(argument) for argument in sys.argv[1:4])
    group = sys.argv[5] if sys.argv[4:5] == ["--enter"] else None
    told, tell = os.pipe()
    pids = []
    for number in range(children):
        pid = os.fork()
        if pid == 0:
            os.close(tell)
            child(number == eater, mib, group, told)
            sys.exit(0)
        pids.append(pid)
    held = bytearray(os.urandom(1024)) * (64 * 1024)
    _, status = os.waitpid(pids[eater], 0)
    print(f"eater {pids[eater]} {os.waitstatus_to_exitcode(status)}", flush=True)
    time.sleep(0.3)
    os.close(tell)
    for number, pid in enumerate(pids):
        if number != eater:
            os.waitpid(pid, 0)
    return len(held) == 0


if __name__ == "__main__":
    sys.exit(main())
