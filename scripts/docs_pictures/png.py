"""Purpose: writes a PNG of at most 256 colours that carries the text which the picture shows, and reads it back."""
import collections
import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
TEXT = b"Description"  # a keyword of the PNG standard


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def write(path, width, palette, pixels, text):
    """`palette`: bytes of red, green, blue; `pixels`: an index for each pixel, row by row."""
    rows = b"".join(b"\0" + pixels[at:at + width] for at in range(0, len(pixels), width))
    header = struct.pack(">IIBBBBB", width, len(pixels) // width, 8, 3, 0, 0, 0)
    said = TEXT + b"\0\1\0\0\0" + zlib.compress(text.encode(), 9)  # compressed, UTF-8, no language
    with open(path, "wb") as file:
        file.write(SIGNATURE + chunk(b"IHDR", header) + chunk(b"iTXt", said) + chunk(b"PLTE", palette) +
                   chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def chunks(path):
    with open(path, "rb") as file:
        if file.read(8) != SIGNATURE:
            raise ValueError(f"{path} is not a PNG")
        while head := file.read(8):
            size, kind = struct.unpack(">I4s", head)
            yield kind, file.read(size)
            file.read(4)


def size(path):
    """Returns the width and the height in pixels."""
    return struct.unpack(">II", dict(chunks(path))[b"IHDR"][:8])


def text(path):
    """Returns the text that write() got. Raises KeyError if another program wrote the file."""
    return zlib.decompress(dict(chunks(path))[b"iTXt"][len(TEXT) + 5:]).decode()


def colours(path):
    """Returns the share of the pixels that each of 512 groups of like colours has."""
    parts = dict(chunks(path))
    width, height = struct.unpack(">II", parts[b"IHDR"][:8])
    rows = zlib.decompress(parts[b"IDAT"])
    shares = collections.Counter()
    for index, count in collections.Counter(rows).items():
        count -= height if index == 0 else 0  # each row begins with a 0 for its filter
        shares[tuple(value >> 5 for value in parts[b"PLTE"][3 * index:3 * index + 3])] += count / (width * height)
    return shares
