"""Enters its own user namespace while recording. The kernel refuses that to a process with two threads."""
import ctypes
import os

CLONE_NEWUSER = 0x10000000
held = [bytearray(1 << 20) for _ in range(64)]
libc = ctypes.CDLL(None, use_errno=True)
print(libc.unshare(CLONE_NEWUSER), os.strerror(ctypes.get_errno()))
held.append(bytearray(8 << 20))
print(len(held), len(os.listdir("/proc/self/fd")))
