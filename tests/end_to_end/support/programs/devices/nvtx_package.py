"""Purpose: makes ranges by the package nvtx of PyPI, in each way. Each range allocates its own number of MiB.
"""
import ctypes

import nvtx

MIB = 1 << 20
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]


def take(number):
    libc.malloc(number * MIB)


@nvtx.annotate()
def decorated():
    take(6)


with nvtx.annotate("annotated"):
    take(2)
nvtx.push_range("pushed")
take(3)
nvtx.pop_range()
with nvtx.annotate("in a domain", domain="DeepSpeed", color="green"):
    take(4)
started = nvtx.start_range("started")
take(5)
nvtx.end_range(started)
decorated()
domain = nvtx.get_domain("of its own")
domain.push_range(domain.get_event_attributes(message="by a domain"))
take(7)
domain.pop_range()
with nvtx.annotate("outer"):
    take(8)
    with nvtx.annotate("inner", payload=3):
        take(9)
