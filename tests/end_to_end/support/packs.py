"""Purpose: reads packed files without memtrace, and writes packed files that memtrace would not write."""
import ctypes
import io
import tarfile

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
BLOCK = 1 << 17


def decompress(data):
    """Returns the content of one zstd frame, by the system's library."""
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_createDCtx.restype = ctypes.c_void_p
    zstd.ZSTD_decompressStream.restype = ctypes.c_size_t

    class Buffer(ctypes.Structure):
        _fields_ = [("at", ctypes.c_char_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]

    context = ctypes.c_void_p(zstd.ZSTD_createDCtx())
    source, out = Buffer(data, len(data), 0), []
    room = ctypes.create_string_buffer(1 << 20)
    while True:
        to = Buffer(ctypes.cast(room, ctypes.c_char_p), len(room), 0)
        left = zstd.ZSTD_decompressStream(context, ctypes.byref(to), ctypes.byref(source))
        if zstd.ZSTD_isError(ctypes.c_size_t(left)):
            raise ValueError("not a zstd frame")
        out.append(room.raw[:to.pos])
        if left == 0 or (to.pos == 0 and source.pos == source.size):
            return b"".join(out)


def stored(content):
    """Returns a zstd frame that holds the content as it is."""
    pieces = [content[i:i + BLOCK] for i in range(0, len(content), BLOCK)] or [b""]
    blocks = [(len(piece) << 3 | (i == len(pieces) - 1)).to_bytes(3, "little") + piece
              for i, piece in enumerate(pieces)]
    return ZSTD_MAGIC + bytes([0x00, 0x38]) + b"".join(blocks)  # a window of 128 KiB, no checksum


def zeros(count):
    """Returns the blocks of a frame that hold so many blocks of zeros, without the last block."""
    return (BLOCK << 3 | 2).to_bytes(3, "little") + b"\0" if count == 1 else zeros(1) * count


def members(path):
    """Returns the content of each member, by name, in the order of the file."""
    with open(path, "rb") as file:
        content = decompress(file.read())
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}


def tar_of(entries):
    """Returns a tar file of (name or TarInfo, content)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in entries:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            if info.isreg():
                info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()
