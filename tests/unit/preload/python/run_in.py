# Purpose: run_in.py VERSION PRELOAD SCRIPT: runs SCRIPT under PRELOAD in an interpreter of VERSION, 77 if none.
# In any Python 3.
"""VERSION is "3.11" and so on, "3.14t" for a free-threaded build, found under pyenv, on PATH, or among those that
MEMTRACE_TEST_PYTHONS names, with colons between; or "torch", the Python that MEMTRACE_TEST_PYTHON names."""
import glob
import os
import shutil
import subprocess
import sys


def interpreters(version):
    if version == "torch":
        yield os.environ.get("MEMTRACE_TEST_PYTHON", "")
        return
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    # Not pyenv's shims: they are shell scripts that may name another version.
    yield from sorted(glob.glob("%s/versions/%s.*/bin/python%s" % (root, version.rstrip("t"), version)))
    yield shutil.which("python" + version) or ""
    yield from os.environ.get("MEMTRACE_TEST_PYTHONS", "").split(":")


def works(python, version):
    if not python or not os.access(python, os.X_OK):
        return False
    ask = "import torch"
    if version != "torch":
        ask = "import sys; t = 't' * ('t' in sys.abiflags); assert '%%d.%%d' %% sys.version_info[:2] + t == %r" % version
    return subprocess.run([python, "-c", ask], capture_output=True).returncode == 0


def main():
    version, preload, script = sys.argv[1:]
    for python in interpreters(version):
        if works(python, version):
            package = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 4, "python")
            environment = dict(os.environ, LD_PRELOAD=preload, PYTHONPATH=package)
            return subprocess.run([python, script], env=environment).returncode
    print("skipped: no Python %s here" % (version if version != "torch" else "with PyTorch: set MEMTRACE_TEST_PYTHON"))
    return 77


sys.exit(main())
