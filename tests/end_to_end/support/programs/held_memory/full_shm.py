"""Runs in a mount namespace with a /dev/shm of 8 MiB: reserves files of 4, 16 and 32 MiB there, and none at all."""
import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)
NAMESPACE, PRIVATE = 0x00020000, 0x00044000

assert LIBC.unshare(NAMESPACE) == 0
assert LIBC.mount(b"none", b"/", None, ctypes.c_ulong(PRIVATE), None) == 0
assert LIBC.mount(b"shm", b"/dev/shm", b"tmpfs", ctypes.c_ulong(0), b"size=8m") == 0

file = os.open("/dev/shm/file", os.O_CREAT | os.O_RDWR)
for size in (4 << 20, 16 << 20):
    try:
        os.posix_fallocate(file, 0, size)
        print(size, "reserved", os.fstat(file).st_size)
    except OSError as error:
        print(size, error.errno)
for call in (LIBC.posix_fallocate, LIBC.posix_fallocate64):
    ctypes.set_errno(77)
    print(call(-1, ctypes.c_long(0), ctypes.c_long(1)), call(file, ctypes.c_long(0), ctypes.c_long(32 << 20)),
          ctypes.get_errno())
