# Purpose: every way to start Python attaches, and none shows a difference: stdout, stderr, status, imports, exit.
# In each supported interpreter under the probe.
import os
import re
import subprocess
import sys
import tempfile

import probe  # noqa: F401  the probe is in this process too

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = tempfile.mkdtemp()
BARE = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "PYTHONPATH")}
TRACED = dict(BARE, LD_PRELOAD=os.environ["LD_PRELOAD"])

SAYS = "import sys; print(sorted(sys.modules), [type(f) for f in sys.meta_path][-3:], sys.argv[1:]); sys.exit(3)"
# Walks from inside the script: only attached interpreters have frames.
WALKS = "import ctypes; p = ctypes.CDLL(None); print('frames', p.probe_walk(ctypes.c_size_t(1)))\n"


def run(arguments, environment, **more):
    done = subprocess.run([sys.executable] + arguments, env=environment, capture_output=True, timeout=60, **more)
    return done.returncode, done.stdout, done.stderr


def file(name, text):
    path = os.path.join(FOLDER, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)
    return path


def same(*arguments, **more):
    bare, traced = run(list(arguments), BARE, **more), run(list(arguments), TRACED, **more)
    assert bare == traced, "%r:\n%r\n%r" % (arguments, bare, traced)


def nothing_shows():
    script = file("says.py", SAYS)
    package = file("main/__main__.py", SAYS)
    file("mod.py", SAYS)
    same("-c", "pass")
    same("-c", SAYS)
    same("-I", "-S", "-E", "-c", SAYS)
    same("-S", "-c", SAYS)
    same("-O", "-bb", "-W", "error", "-X", "dev", "-c", SAYS)
    # Here the audit hook's block is freed by another allocator than gave it: an abort at exit.
    same("-X", "dev", "-c", SAYS)
    same("-X", "tracemalloc", "-c", SAYS)
    same("-c", "import tracemalloc; tracemalloc.start(5)")
    same(script, "a", "b")
    same(os.path.dirname(package))
    same("-m", "mod", cwd=FOLDER)
    same(input=SAYS.encode())
    same("-c", "import none_such_module")
    same("-c", "import torch_none, safetensors_none.torch")
    file("safetensors/torch.py", "")
    # The wrappers are compiled before the program sees what is compiled.
    same("-B", "-c", "import sys; sys.addaudithook(lambda e, a: e == 'compile' and print(a)); import safetensors.torch",
         cwd=FOLDER)
    same("-c", "1/0")
    same("-c", "import os; os._exit(5)")
    same("-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    same("-c", "import sys; print(sys.gettrace(), sys.getprofile(), sys.getrefcount(None) >= 0)")


def imports_are_reported_as_ever():
    """-X importtime and -v print a line for each import: none of ours."""
    bare, traced = (run(["-X", "importtime", "-c", "import json"], e)[2].decode() for e in (BARE, TRACED))
    names = [[line.split("|")[-1] for line in text.splitlines()] for text in (bare, traced)]
    assert names[0] == names[1], names
    bare, traced = (run(["-v", "-c", "import json"], e)[2].decode() for e in (BARE, TRACED))
    lines = [[re.sub("0x[0-9a-f]+", "", line) for line in t.splitlines() if line.startswith("import ")] for t in (bare, traced)]
    assert lines[0] == lines[1]


def a_library_that_fails_to_import():
    """Stands in for torch: the traceback of its failure has no frame of ours, and the next try works as well."""
    file("broken/torch/__init__.py", "raise ImportError('no such device')\n")
    environment = dict(TRACED, PYTHONPATH=os.path.join(FOLDER, "broken"))
    bare = dict(BARE, PYTHONPATH=os.path.join(FOLDER, "broken"))
    program = "import traceback\nfor i in range(2):\n  try:\n    import torch\n  except ImportError:\n    traceback.print_exc()\nimport torch"
    assert run(["-c", program], environment) == run(["-c", program], bare)


def a_library_of_another_shape():
    """A torch that has nothing that the bootstrap looks for."""
    file("odd/torch/__init__.py", "import torch.serialization\nfrom torch._C import nothing\n")
    file("odd/torch/_C.py", "nothing = 1\n")
    file("odd/torch/serialization.py", "def load(f): return f\n")
    environment = dict(TRACED, PYTHONPATH=os.path.join(FOLDER, "odd"), PROBE_LOG=os.path.join(FOLDER, "odd.log"))
    status, out, error = run(["-c", "import torch, sys; print(torch.serialization.load(5), torch.__spec__.name)"], environment)
    assert (status, out, error) == (0, b"5 torch\n", b""), (status, out, error)
    with open(environment["PROBE_LOG"]) as log:
        assert "note python-unpatched=torch.serialization" in log.read()


def wrappers_come_with_the_first_framework():
    """Compiling them takes longer than the rest of the start. The list of packages must have those of all patches."""
    file("odd/torch/serialization.py", "def load(f): return f\n")
    look = """
import sys
finder = [type(one).find_spec.__globals__ for one in sys.meta_path if type(one).__name__ == "_Finder"][0]
try:
    import torchvision_none
except ImportError:
    pass
print("_PATCHES" in finder)
import torch
print({name.partition(".")[0] for name in finder["_PATCHES"]} == finder["_FRAMEWORKS"])
"""
    environment = dict(TRACED, PYTHONPATH=os.path.join(FOLDER, "odd"))
    assert run(["-c", look], environment) == (0, b"False\nTrue\n", b"")


def every_start_attaches():
    path = file("walks.py", WALKS)
    for arguments, more in (
        (["-c", WALKS], {}),
        ([path], {}),
        (["-I", path], {}),
        (["-S", path], {}),
        ([], {"input": WALKS.encode()}),
        (["-m", "walks"], {"cwd": FOLDER}),
    ):
        status, out, error = run(arguments, TRACED, **more)
        assert status == 0 and out.split()[:1] == [b"frames"] and int(out.split()[1]) > 0, (arguments, out, error)


def children_attach():
    for method in ("fork", "spawn", "forkserver"):
        path = file(
            "pool_%s.py" % method,
            "import multiprocessing as m, ctypes\n"
            "def walk(_):\n  return ctypes.CDLL(None).probe_walk(ctypes.c_size_t(1))\n"
            "if __name__ == '__main__':\n"
            "  with m.get_context(%r).Pool(2) as pool: print(pool.map(walk, range(3)))\n" % method,
        )
        status, out, error = run([path], TRACED)
        counts = eval(out)
        assert status == 0 and not error and len(counts) == 3 and min(counts) > 2, (method, out, error)


def modes():
    program = "import sys; print('_Finder' in [type(finder).__name__ for finder in sys.meta_path])"
    for mode, finder in (("auto", True), ("marks", False), ("off", False)):
        out = run(["-c", program], dict(TRACED, MEMTRACE_PHASES=mode))[1]
        assert (out.strip() == b"True") == finder, (mode, out)
    out = run(["-c", WALKS], dict(TRACED, MEMTRACE_PHASES="off"))[1]
    assert int(out.split()[1]) > 0, out


def exits():
    """The walk ends at atexit, after the program's own handlers; threads that walk meanwhile do no harm."""
    late = (
        "import atexit, ctypes, threading, time\n"
        "p = ctypes.CDLL(None)\n"
        "walk = lambda: p.probe_walk(ctypes.c_size_t(1))\n"
        "class Late:\n  def __del__(self, walk=walk): print('late', walk())\n"
        "keep = Late()\n"
        "atexit.register(lambda: print('atexit', walk() > 0))\n"
    )
    busy = (
        "def busy():\n  while True: p.probe_walk(ctypes.c_size_t(20000))\n"
        "[threading.Thread(target=busy, daemon=True).start() for _ in range(3)]\n"
        "time.sleep(0.05)\n"
    )
    status, out, error = run(["-c", late], TRACED)
    # 3.9 keeps its list in the module atexit, and that is not imported for us alone.
    if sys.version_info >= (3, 10):
        assert (status, out, error) == (0, b"atexit True\nlate 0\n", b""), (status, out, error)
    for _ in range(15):
        status, out, error = run(["-c", late + busy], TRACED)
        assert status == 0 and not error and out.startswith(b"atexit True\n"), (status, out, error)


def main():
    for check in (
        nothing_shows,
        imports_are_reported_as_ever,
        a_library_that_fails_to_import,
        a_library_of_another_shape,
        wrappers_come_with_the_first_framework,
        every_start_attaches,
        children_attach,
        modes,
        exits,
    ):
        check()
        print("ok", check.__name__)


main()
