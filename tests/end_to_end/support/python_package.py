"""Purpose: runs programs that import the package memtrace, with the command of the build on PATH."""
import os
import re
import shutil
import subprocess

import harness

PACKAGE = os.path.join(harness.ROOT, "python")
OLDEST, NEWEST = 9, 14  # minor versions of CPython that the package supports


def environment(*folders, **more):
    """Returns an environment with the package and these folders of packages, and the command on PATH."""
    path = os.pathsep.join([os.path.dirname(harness.COMMAND), os.environ["PATH"]])
    return harness.bare_environment(PATH=path, PYTHONPATH=os.pathsep.join([PACKAGE, *folders]), **more)


def pythons():
    """Returns a path for each supported version of CPython on this machine: of PATH, else of pyenv."""
    found = {}
    pyenv = os.path.join(os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv"), "versions")
    installed = sorted(os.listdir(pyenv)) if os.path.isdir(pyenv) else []
    for minor in range(OLDEST, NEWEST + 1):
        names = [os.path.join(pyenv, name, "bin", "python") for name in installed if name.startswith(f"3.{minor}.")]
        for path in (*names, shutil.which(f"python3.{minor}") or ""):
            if path and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
                found[f"3.{minor}"] = path
                break
    return found


def blocks_of_code(page):
    """Returns the blocks of code of a page of the docs, as pairs of language and text."""
    with open(os.path.join(harness.ROOT, "docs", page), encoding="utf-8") as file:
        return re.findall(r"^```(\w+)\n(.*?)^```$", file.read(), re.S | re.M)
