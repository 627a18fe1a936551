"""Purpose: the training run of scripts/demo, recorded once, and what the command makes of it."""
import functools
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD_DIR", ROOT / "build" / "dev"))
CACHE = pathlib.Path(os.environ.get("MEMTRACE_CACHE") or
                     pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "memtrace")
PYTHON = CACHE / "venv" / "bin" / "python"
COMMAND = BUILD / "analyzer" / "memtrace"
LIBRARY = BUILD / "preload" / "libmemtrace.so"
PROGRAM = ROOT / "scripts" / "demo_train.py"


def environment(**more):
    """Returns the environment without settings of memtrace or of a terminal."""
    kept = {key: value for key, value in os.environ.items()
            if key not in ("LD_PRELOAD", "COLUMNS", "LINES") and not key.startswith("MEMTRACE")}
    return {**kept, "LC_ALL": "C.UTF-8", **more}


class Training:
    """Everything lies in `folder`."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def run(self, *command, **more):
        """Returns what a command writes to stdout."""
        done = subprocess.run(command, cwd=self.folder, env=environment(**more), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=600)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))}\nended with {done.returncode}: {done.stderr}")
        return done.stdout

    @functools.cached_property
    def trace(self):
        """Returns the folder of the trace."""
        out = self.folder / "memtrace-out"
        self.run(PYTHON, PROGRAM, LD_PRELOAD=str(LIBRARY), MEMTRACE_OUT=str(out), MEMTRACE_QUIET="1",
                 OMP_NUM_THREADS="1")
        return out

    def memtrace(self, command, *options):
        return self.run(COMMAND, command, self.trace, *options)

    @functools.cached_property
    def page(self):
        path = self.folder / "report.html"
        self.memtrace("report", "--format", "html", "-o", path)
        return path

    def export(self, form, name):
        path = self.folder / name
        if not path.exists():
            self.memtrace("export", "--to", form, "-o", path)
        return path
