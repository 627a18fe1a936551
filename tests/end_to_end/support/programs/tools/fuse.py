"""A file system in memory, served through /dev/fuse, with configurable faults.

usage: fuse.py MOUNTPOINT [--delay SECONDS] [--delay-open SECONDS] [--no-mmap]
Each write takes `--delay`, and each open `--delay-open`; meanwhile no other request is answered, as with an overloaded server.
It has no fallocate. With --no-mmap it refuses shared mappings, too. Ends when it is unmounted. Needs root.
"""
import argparse
import ctypes
import errno
import os
import stat
import struct
import sys
import time

IN = struct.Struct("<IIQQIIIHH")
OUT = struct.Struct("<IiQ")
ATTR = struct.Struct("<QQQQQQIIIIIIIIII")
DIRECT_IO = 1


class Node:
    def __init__(self, number, mode):
        self.number, self.mode, self.data, self.names = number, mode, bytearray(), {}


class Server:
    def __init__(self, device, options):
        self.device, self.options = device, options
        self.nodes = {1: Node(1, stat.S_IFDIR | 0o777)}
        self.calls = {1: self.lookup, 3: self.getattr, 4: self.setattr, 9: self.mkdir, 10: self.unlink,
                      11: self.unlink, 14: self.open, 15: self.read, 16: self.write, 17: self.statfs,
                      18: self.nothing, 20: self.nothing, 25: self.nothing, 26: self.init, 27: self.open,
                      28: self.readdir, 29: self.nothing, 35: self.create}

    def run(self):
        while True:
            try:
                request = os.read(self.device, 1 << 21)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                return  # unmounted
            _, code, unique, node, *_ = IN.unpack_from(request)
            if code in (2, 36, 42):  # forget, interrupt: no answer
                continue
            call = self.calls.get(code)
            try:
                if call is None:
                    raise OSError(errno.ENOSYS, "")
                answer, error = call(self.nodes.get(node), request[IN.size:]), 0
            except OSError as refused:
                answer, error = b"", -refused.errno
            try:
                os.write(self.device, OUT.pack(OUT.size + len(answer), error, unique) + answer)
            except OSError:
                pass  # the caller was interrupted

    def attributes(self, node):
        size = len(node.data)
        return ATTR.pack(node.number, size, -(-size // 512), 0, 0, 0, 0, 0, 0, node.mode, 1, 0, 0, 0, 4096, 0)

    def entry(self, node):
        return struct.pack("<QQQQII", node.number, 0, 1, 1, 0, 0) + self.attributes(node)

    def made(self, parent, name, mode):
        node = Node(max(self.nodes) + 1, mode)
        self.nodes[node.number] = parent.names[name] = node
        return node

    def init(self, _, body):
        _, minor, ahead, _ = struct.unpack_from("<IIII", body)
        return struct.pack("<IIIIHHIIHHII24x", 7, min(minor, 31), ahead, 0, 12, 9, 1 << 17, 1, 32, 0, 0, 0)

    def lookup(self, node, body):
        found = node.names.get(body.rstrip(b"\0"))
        if found is None:
            raise OSError(errno.ENOENT, "")
        return self.entry(found)

    def getattr(self, node, _):
        return struct.pack("<QII", 1, 0, 0) + self.attributes(node)

    def setattr(self, node, body):
        valid, _, _, size = struct.unpack_from("<IIQQ", body)
        if valid & 8:
            del node.data[size:]
            node.data.extend(bytes(size - len(node.data)))
        return self.getattr(node, body)

    def mkdir(self, node, body):
        mode, _ = struct.unpack_from("<II", body)
        return self.entry(self.made(node, body[8:].rstrip(b"\0"), stat.S_IFDIR | mode & 0o7777))

    def unlink(self, node, body):
        node.names.pop(body.rstrip(b"\0"))
        return b""

    def open(self, *_):
        time.sleep(self.options.delay_open)
        return struct.pack("<QII", 0, DIRECT_IO if self.options.no_mmap else 0, 0)

    def create(self, node, body):
        _, mode, _, _ = struct.unpack_from("<IIII", body)
        made = self.made(node, body[16:].rstrip(b"\0"), stat.S_IFREG | mode & 0o7777)
        return self.entry(made) + self.open()

    def read(self, node, body):
        _, offset, size = struct.unpack_from("<QQI", body)
        return bytes(node.data[offset:offset + size])

    def write(self, node, body):
        time.sleep(self.options.delay)
        _, offset, size = struct.unpack_from("<QQI", body)
        node.data.extend(bytes(max(0, offset + size - len(node.data))))
        node.data[offset:offset + size] = body[40:40 + size]
        return struct.pack("<II", size, 0)

    def statfs(self, *_):
        return struct.pack("<QQQQQIII28x", 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 4096, 255, 4096)

    def readdir(self, node, body):
        _, offset, size = struct.unpack_from("<QQI", body)
        out = b""
        for at, (name, child) in enumerate(list(node.names.items())):
            entry = struct.pack("<QQII", child.number, at + 1, len(name), child.mode >> 12) + name
            entry += bytes(-len(entry) % 8)
            if at >= offset and len(out) + len(entry) <= size:
                out += entry
        return out

    def nothing(self, *_):
        return b""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mountpoint")
    parser.add_argument("--delay", type=float, default=0)
    parser.add_argument("--delay-open", type=float, default=0)
    parser.add_argument("--no-mmap", action="store_true")
    options = parser.parse_args()
    device = os.open("/dev/fuse", os.O_RDWR)
    data = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"memtrace-test", options.mountpoint.encode(), b"fuse", 6, data) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    Server(device, options).run()


if __name__ == "__main__":
    main()
