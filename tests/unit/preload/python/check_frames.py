# Purpose: the walk without the GIL gives what sys._getframe gives: qualified name, file, first line, line.
# In each supported interpreter under the probe.
import ctypes
import gc
import os
import sys
import threading
import time

import probe

QUALIFIED = sys.version_info >= (3, 11)


def expected(frame):
    frames = []
    while frame is not None:
        code = frame.f_code
        name = code.co_qualname if QUALIFIED else code.co_name
        line = code.co_firstlineno if frame.f_lineno is None else frame.f_lineno
        frames.append(
            (name.encode("utf-8", "surrogatepass"), os.fsencode(code.co_filename), code.co_firstlineno, line)
        )
        frame = frame.f_back
    return frames


checked = 0


def check():
    global checked
    wanted, got = expected(sys._getframe(1)), probe.chain()
    # The frame of check() itself comes first in what was walked.
    if got[1:] != wanted:
        for a, b in zip(got[1:], wanted):
            print("walked %r\nwanted %r" % (a, b) if a != b else "both   %r" % (a,))
        raise AssertionError("%d frames walked, %d wanted" % (len(got) - 1, len(wanted)))
    checked += 1
    return True


def recursion(depth):
    if depth == 0:
        return check()
    return recursion(depth - 1)


def generator():
    check()
    yield 1
    for _ in range(2):
        yield check()
    yield from inner_generator()


def inner_generator():
    yield check()


class Callable:
    class Nested:
        def method(self):
            return [check() for _ in range(2)] and {1: check()} and (lambda: check())()

    @property
    def value(self):
        return check()

    def __lt__(self, other):
        return check()

    def __del__(self):
        check()

    def __repr__(self):
        check()
        return "Callable"


async def coroutine():
    check()
    async for _ in asynchronous():
        check()


async def asynchronous():
    yield check()


def many_lines(
    a=1,
):
    x = (
        a
        + check()
        + 1
    )
    try:
        raise ValueError(
            check()
        )
    except ValueError:
        with open(os.devnull):
            check()
    finally:
        check()
    return x


def exec_code():
    # A long function: line and address deltas that need more than a byte.
    body = ["def long(a):"] + ["    a = a + %d * a - (a << 2) if a else a" % i for i in range(300)]
    body += [""] * 5000 + ["    check()"] + [""] * 300 + ["    check(); return (a,", "", "  check())"]
    names = {"check": check}
    exec(compile("\n" * 100 + "\n".join(body), "<long>", "exec"), names)
    names["long"](0)
    # Lines that go backward, over a hundred at once.
    exec(compile("def f(a, b): pass\n" + "f(\n" + "\n" * 200 + "check(),\n" + "\n" * 200 + "check())", "<b>", "exec"), names)
    check()


def names_and_paths():
    for file, name in [
        ("/tmp/caf\xe9/tr\xe6n.py", "\xe9cole"),  # one byte a character
        ("/tmp/\u8bad\u7ec3.py", "\u8bad\u7ec3"),  # two
        ("/tmp/\U0001f525/x.py", "f\U00020000"),  # four
        (os.fsdecode(b"/tmp/\xff\xfe/not-utf8.py"), "plain"),
        ("", "nameless_file"),
        ("/" + "d" * 3000 + ".py", "g" * 900),
    ]:
        names = {"check": check}
        exec(compile("def %s():\n  class \xc9t\xe9:\n    check()\n  check()\n%s()" % (name, name), file, "exec"), names)


def freed_code():
    """Each function dies before the next is born, often at its address: no identity may stand for two of them."""
    whole, weak, reused = {}, {}, 0
    for i in range(3000):
        names = {"check": check if i % 10 == 0 else int, "identity": probe.identity}
        lines = "\n" * (i % 50) + "def f%d():\n  check()\n  return identity()\ngot = f%d()" % (i, i)
        exec(compile(lines, "<freed %d>" % (i % 7), "exec"), names)
        got, truth = names["got"], (i, i % 50, i % 7)
        assert len(got) == 40 and whole.setdefault(got, truth) == truth, (whole[got], truth)
        reused += weak.setdefault(got[:12], truth) != truth  # code and lasti
        del names
    # Else this has shown nothing.
    assert reused > 100, reused


def immortal_code():
    """From 3.14 on a frame's reference to what lives for ever has a tag in its low bits."""
    names = {"check": check}
    exec(compile("def immortal():\n  check()\n  return check()", "<immortal>", "exec"), names)
    if sys.version_info >= (3, 14):
        ctypes.c_uint64.from_address(id(names["immortal"].__code__)).value = 1 << 48 | 3 << 30
    names["immortal"]()


class Module:
    pass


def calls_of_modules():
    """The first argument of the wrapper of Module.__call__, whatever the version; more than eight are too many."""

    def wrapper(self, inner, *args, **kwargs):
        return inner(*args, **kwargs)

    finders = [type(finder).find_spec.__code__ for finder in sys.meta_path if type(finder).__name__ == "_Finder"]
    hidden = finders[0].co_filename  # the object that the walk leaves out
    call = type(wrapper)(wrapper.__code__.replace(co_filename=hidden), globals())
    assert probe.modules() == []
    probe.module_call(call.__code__)
    modules = [Module() for _ in range(12)]

    def nested(left):
        return call(left[0], nested, left[1:]) if left else probe.modules()

    for count in (0, 1, 2, 8, 12):
        wanted = [id(module) for module in reversed(modules[:count])][:8]
        assert nested(modules[:count]) == wanted, (count, nested(modules[:count]), wanted)
    for immortal in (None, "text", 1):
        assert call(immortal, probe.modules) == [id(immortal)], immortal
    probe.module_call(None)


def variables_of_calls():
    def collective(tensor, group=None):
        found.append(probe.local())
        group = group or "default"
        found.append(probe.local())
        return lambda: tensor  # in a cell, so the variable after it is not the first in every version

    def late():
        found.append(probe.local())
        name = "tp\xe4"
        found.append(probe.local())
        return name

    def outer(group):
        late()

    found, thing = [], object()
    collective(1, thing)
    assert found == [0, 0], found
    probe.text_type(str)
    for call, name in ((collective, "group"), (outer, "group"), (late, "name")):
        probe.local_of(call.__code__, name)
    assert probe.local() == 0
    del found[:]
    collective(1, thing)
    assert found == [id(thing)] * 2, found
    del found[:]
    collective(1)
    collective(1, "".join(("de", "fault")))
    assert found[0] == id(None) and found[1] == found[2] == found[3] and found[1] % 2 == 1, found
    del found[:]
    outer(thing)  # `late` has nothing in its variable yet
    outer(None)
    assert found[0] == id(thing) and found[2] == id(None) and found[1] == found[3] != 0, found
    del found[:]
    thread = threading.Thread(target=lambda: found.append(probe.local()))
    thread.start()
    thread.join()
    assert found == [0], found


def descriptions():
    """An interpreter is walked only if its version is known and, from 3.13 on, if it describes itself as we know it."""
    runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    major, minor = sys.version_info[:2]
    assert probe.attach(sys.version.encode(), runtime)
    for version in ("%d.%d.0rc1 (main)" % (major, minor), "%d.%d.99+ (main)" % (major, minor)):
        assert probe.attach(version.encode(), runtime), version
    for version in ("", "3", "3.", "3.8.18 (default)", "3.15.0 (main)", "2.7.18", "4.0.0", "%d.%d.0a7" % (major, minor), "3.130.0"):
        assert not probe.attach(version.encode(), runtime), version
    if minor < 13:
        return
    assert not probe.attach(sys.version.encode(), None)
    assert not probe.attach(b"3.13.0" if minor != 13 else b"3.14.0", runtime)
    copy = ctypes.create_string_buffer(ctypes.string_at(runtime, 1024), 1024)
    assert probe.attach(sys.version.encode(), copy)
    told = []
    for at in range(0, 1024, 8):
        word = ctypes.c_uint64.from_buffer(copy, at)
        word.value ^= 1 << 20
        if not probe.attach(sys.version.encode(), copy):
            told.append(at)
        word.value ^= 1 << 20
    # The cookie, the version, free threading, and 15 fields.
    assert told[:3] == [0, 8, 16] and len(told) == 18, told


def many_threads():
    failures = []

    def run(depth):
        try:
            for _ in range(50):
                recursion(depth)
                next(generator())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(i * 7 + 1,)) for i in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failures, failures


def sorts_and_callbacks():
    sorted([Callable(), Callable()])
    repr([Callable()])
    list(map(lambda _: check(), range(2)))
    Callable().value
    Callable.Nested().method()
    gc.collect()


def start_line_of_generators():
    list(generator())
    list(check() for _ in range(3))
    try:
        coroutine().send(None)
    except StopIteration:
        pass


def deep():
    sys.setrecursionlimit(5000)
    recursion(2000)


def main():
    check()
    recursion(40)
    start_line_of_generators()
    sorts_and_callbacks()
    many_lines()
    exec_code()
    names_and_paths()
    freed_code()
    immortal_code()
    calls_of_modules()
    variables_of_calls()
    descriptions()
    many_threads()
    deep()
    notes = [line for line in probe.log(folders=True) if line.startswith("note")]
    assert all(note.startswith(probe.FOLDERS) for note in notes), notes
    assert "note python-library=" + os.path.dirname(os.__file__) in notes, (os.__file__, notes)
    assert probe.walk(1) > 0
    begin = time.perf_counter_ns()
    count = [0]

    def timed(depth):
        nonlocal begin
        if depth > 0:
            return timed(depth - 1)
        begin = time.perf_counter_ns()
        count[0] = probe.walk(100000)
        return time.perf_counter_ns() - begin

    took = timed(36)
    print("%d chains equal; a walk of %d frames takes %d ns" % (checked, count[0], took / 100000))


main()
