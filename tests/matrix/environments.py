"""Purpose: makes a virtual environment for each combination of CPython and PyTorch, and keeps it in memtrace's cache.

A build of PyTorch for CUDA needs the libraries of CUDA when it is imported, also without a GPU. Environments whose
PyTorch needs the same ones share one folder of them.
"""
import hashlib
import json
import os
import re
import shutil
import subprocess

import interpreters

CUDA = re.compile(r"(nvidia-|cuda-toolkit)")
UNUSED = re.compile(r"(triton|cuda-bindings|nvidia-cuda-crt)\b")  # no import of PyTorch needs them


class Environment:
    def __init__(self, interpreter, folder):
        self.interpreter, self.folder = interpreter, folder
        self.python = os.path.join(folder, "bin", "python")

    def command(self, *arguments):
        return [*self.interpreter.entering(), self.python, *arguments]


def run_logged(command, log):
    # The version is exact, so a constraint of the machine has nothing to add.
    environment = {**os.environ, "PIP_CONSTRAINT": os.devnull, "LC_ALL": "C.UTF-8"}
    with open(log, "a", encoding="utf-8") as out:
        print("+", " ".join(command[-8:]), file=out, flush=True)
        done = subprocess.run(command, stdout=out, stderr=out, env=environment, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        with open(log, encoding="utf-8") as file:
            errors = [line.strip() for line in file if line.startswith("ERROR: ")]
        raise interpreters.Unavailable(errors[-1] if errors else f"pip failed: {log}")


def requirements_of(environment):
    code = "import importlib.metadata as m, json; print(json.dumps(m.requires('torch') or []))"
    wanted = json.loads(environment.interpreter.ask(code, environment.python))
    return [one for one in wanted if "extra ==" not in one and not UNUSED.match(one)]


def install(environment, torch, cache, log):
    def pip(*arguments):
        run_logged(environment.command("-m", "pip", "install", "--quiet", "--no-cache-dir", "--no-compile", *arguments), log)

    run_logged([*environment.interpreter.entering(), environment.interpreter.path, "-m", "venv", "--clear",
                environment.folder], log)
    pip("--no-deps", "torch==" + torch)
    wanted = requirements_of(environment)
    pip(*[one for one in wanted if not CUDA.match(one)])
    cuda = sorted(one for one in wanted if CUDA.match(one))
    if cuda:
        folder = os.path.join(cache, "cuda-" + hashlib.sha256("\n".join(cuda).encode()).hexdigest()[:12])
        if not os.path.isdir(folder):
            fresh = folder + ".new"
            shutil.rmtree(fresh, ignore_errors=True)
            pip("--target", fresh, *cuda)
            os.rename(fresh, folder)
        link_packages(environment, folder)


def link_packages(environment, folder):
    """PyTorch finds CUDA's libraries by their place beside its own folder."""
    site = environment.interpreter.ask("import sysconfig; print(sysconfig.get_path('platlib'))", environment.python)
    for name in os.listdir(folder):
        if os.path.isdir(os.path.join(folder, name)) and not os.path.lexists(os.path.join(site, name)):
            os.symlink(os.path.join(folder, name), os.path.join(site, name))


def get(python, torch, cache, shared):
    """Returns the environment. Raises Unavailable with the reason if it cannot be made."""
    os.makedirs(cache, exist_ok=True)
    log = os.path.join(cache, f"{python}-torch{torch}.log")
    interpreter = interpreters.find(python, cache, shared, log)
    environment = Environment(interpreter, os.path.join(cache, f"{python}-torch{torch}"))
    stamp = os.path.join(environment.folder, "memtrace-made")
    if not os.path.exists(stamp):
        if os.path.exists(log):
            os.remove(log)
        install(environment, torch, cache, log)
        with open(stamp, "w", encoding="utf-8"):
            pass
    return environment
