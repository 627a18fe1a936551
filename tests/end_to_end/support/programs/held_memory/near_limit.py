"""Limits its address space, waits for a line, grows until a limit is near, and waits again.

usage: near_limit.py
Prints "ready" and "near".
"""
import mmap
import resource
import sys


def address_space():
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[0]) * mmap.PAGESIZE


held = [bytearray(40 << 20)]
limit = address_space() + (400 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
print("ready", flush=True)
sys.stdin.readline()
while limit - address_space() > limit // 8 - (8 << 20):
    held.append(bytearray(3_333_333))
print("near", flush=True)
sys.stdin.readline()
