"""Calls os.fork() repeatedly in a process that is large enough to record and goes on allocating."""
import os
import sys

held = [bytearray(1 << 20) for _ in range(48)]
if sys.argv[1:] == ["hold"]:
    children = []
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            more = [bytearray(1 << 20) for _ in range(16)]
            os._exit(len(more) != 16)
        children.append(pid)
    raise SystemExit(any(os.waitpid(pid, 0)[1] for pid in children))
forked = 0
for i in range(20):
    churn = [bytearray(10_000) for _ in range(200)]
    pid = os.fork()
    if pid == 0:
        churn.append(bytearray(2 << 20))
        os._exit(0)
    forked += os.waitpid(pid, 0)[1] == 0
print("forked", forked)
