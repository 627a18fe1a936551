"""Purpose: makes traces of a few kilobytes that are expensive to read, each of a requested size."""
from rawwriter import RING, Bomb, halves, segment

KIB = 1 << 10


def long_name(depth):
    """A phase with a name of 1 MiB, nested in itself."""
    bomb = Bomb()
    name = bomb.text(b"n" * 40, 1 << 20)
    for i in range(depth):
        bomb.begin(name).birth(0x1000 * (i + 1), 8 * KIB)
    for _ in range(depth):
        bomb.end(name)
    return bomb.bytes()


def deep_paths(phases):
    """Phases with their own short names, 128 deep below names of 200 bytes."""
    bomb = Bomb()
    name = bomb.text(b"n" * 40, 200)
    for _ in range(127):
        bomb.begin(name)
    bomb.birth(0x1000, 8 * KIB)
    for i in range(phases):
        text = bomb.text(b"%d" % i)
        bomb.begin(text).end(text)
    return bomb.bytes()


def open_threads(threads, births=2):
    """Threads that are all in a phase at once, and leave it in the order of their start."""
    bomb = Bomb()
    name = bomb.text(b"forward")
    for thread in range(threads):
        bomb.begin(name, thread=thread)
    for thread in range(threads):
        for i in range(births):
            bomb.birth(0x10000 * (thread + 1) + 0x1000 * i, 8 * KIB, thread=thread)
    for thread in range(threads):
        bomb.end(name, thread=thread)
    return bomb.bytes()


def notes(number):
    """One note of 4 KiB, repeated."""
    bomb = Bomb()
    name = bomb.text(b"n" * 40, 4000)
    for _ in range(number):
        bomb.put("note", (name,))
    return bomb.bytes()


def deep_stacks(number):
    """Stacks that are one path in the tree, most of them 1,000 frames deep, each with a block of 2 MiB."""
    bomb = Bomb()
    stack = 0
    for i in range(number):
        stack = bomb.frame(stack, 0x400000 + 16 * i)
    bomb.begin(bomb.text(b"step"))
    for i in range(number):
        bomb.birth(0x400000 * (i + 1), 2 << 20, stack=i + 1)
    return bomb.bytes()


def modules(number):
    """`number` modules, each with a frame in it."""
    bomb = Bomb()
    path = bomb.text(b"/nonexistent/lib.so")
    for i in range(number):
        bomb.define("module", 0, (halves(i + 1, path), 0, 0x1000000 + 0x1000 * i, halves(1, 0), 0, 0))
    for i in range(number):
        bomb.birth(0x1000 * (i + 1), 8 * KIB, stack=bomb.frame(0, 0x1000000 + 0x1000 * i + 8))
    return bomb.bytes()


def blocks_by_phases(number):
    """Blocks that stay alive, and as many phases; each block is alive at the peak of each phase."""
    bomb = Bomb()
    for i in range(number):
        bomb.birth(0x1000 * (i + 1), 8 * KIB, stack=bomb.frame(0, 0x400000 + 16 * i))
    for i in range(number):
        text = bomb.text(b"%d" % i)
        bomb.begin(text).birth(0x10000000 + 0x1000 * i, 8 * KIB).end(text)
    return bomb.bytes()


def alike_steps(phases):
    """Two equal steps of `phases` phases."""
    bomb = Bomb()
    texts = [bomb.text(b"%d" % i) for i in range(phases)]
    for step in range(4):
        bomb.put("step", (step,))
        for text in texts:
            bomb.begin(text).end(text)
    return bomb.bytes()


def false_headers(number):
    """Headers of segments with wrong checksums, each before 1 MiB of other headers."""
    whole = segment([(2, "birth", 1, 0, (4096, 4096, 4096))], 0, RING)
    false = bytearray(whole[:64])
    false[8:12] = ((1 << 20) - 64).to_bytes(4, "little")
    return Bomb().bytes() + whole + bytes(false) * number + bytes(1 << 20)


def devices(phases):
    """Phases while 255 devices have memory."""
    bomb = Bomb()
    for device in range(255):
        bomb.put("birth", (0x1000, 8 * KIB, 8 * KIB), kind=1, flags=(device + 1) << 8)
    for i in range(phases):
        text = bomb.text(b"%d" % i)
        bomb.begin(text).end(text)
    return bomb.bytes()
