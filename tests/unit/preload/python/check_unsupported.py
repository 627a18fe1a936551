# Purpose: it says so, walks nothing, and the program runs as ever; phases are marked all the same.
# Under the probe in an interpreter whose frames memtrace does not know: free-threaded, or too new.
import os
import subprocess
import sys
import tempfile

import probe

notes = [line for line in probe.log() if line.startswith("note")]
assert len(notes) == 1 and notes[0].startswith("note python=unsupported " + sys.version.split("(")[0].strip()), notes
assert probe.walk(1) == 0
assert any(type(finder).__name__ == "_Finder" for finder in sys.meta_path)

THREADS = (
    "import sys, threading\n"
    "def work():\n"
    "  for _ in range(300): exec(compile('x = bytearray(9000)', 'f', 'exec'), {})\n"
    "threads = [threading.Thread(target=work) for _ in range(4)]\n"
    "[t.start() for t in threads]; [t.join() for t in threads]\n"
    "print(len(threads), getattr(sys, '_is_gil_enabled', bool)())\n"
)
BARE = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "PYTHONPATH")}
for program in (THREADS, "1/0", "import json, sys; print(sorted(sys.modules))"):
    runs = []
    for environment in (BARE, dict(BARE, LD_PRELOAD=os.environ["LD_PRELOAD"])):
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, timeout=60)
        runs.append((done.returncode, done.stdout, done.stderr))
    assert runs[0] == runs[1], runs

with tempfile.TemporaryDirectory() as folder:
    os.mkdir(os.path.join(folder, "torch"))
    with open(os.path.join(folder, "torch", "__init__.py"), "w") as out:
        out.write("")
    sys.path.insert(0, folder)
    import torch  # noqa: F401  a stand-in, with nothing to wrap
print("ok", notes[0])
