# Purpose: `memtrace jupyter install`: writes the kernel that runs under the preload.
# Run by the command memtrace, in the Python of the kernel.
"""The kernel spec: ipykernel of this Python, with the variables of memtrace in its environment.

The variables are in `env`, so the kernel stays the child of Jupyter. Its interrupts, its restarts and ipykernel's look
at its parent are as without memtrace."""
from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from typing import Any, Optional

# extra_extensions: `extensions` would replace those of the user's own configuration.
_ARGUMENTS = ["-m", "ipykernel_launcher", "-f", "{connection_file}",
              "--IPKernelApp.extra_extensions=memtrace.notebook"]


def kernel_spec(display_name: str, variables: dict[str, str]) -> dict[str, Any]:
    """Returns the content of kernel.json."""
    return {"argv": [sys.executable, *_ARGUMENTS], "display_name": display_name, "language": "python",
            "interrupt_mode": "signal", "metadata": {"debugger": True}, "env": variables}


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="memtrace jupyter install")
    parser.add_argument("--user", action="store_true")
    parser.add_argument("--sys-prefix", action="store_true")
    parser.add_argument("--prefix", default="")
    parser.add_argument("--name", default="memtrace")
    parser.add_argument("--display-name", default="")
    parser.add_argument("--env", action="append", default=[])  # NAME=VALUE
    return parser.parse_args(words)


def _install(given: argparse.Namespace) -> str:
    from jupyter_client.kernelspec import KernelSpecManager

    variables = dict(text.split("=", 1) for text in given.env)
    shown = given.display_name or f"Python {sys.version_info[0]} (memtrace)"
    with tempfile.TemporaryDirectory(prefix="memtrace-kernel-") as folder:
        with open(os.path.join(folder, "kernel.json"), "w", encoding="utf-8") as file:
            json.dump(kernel_spec(shown, variables), file, indent=1)
            file.write("\n")
        os.chmod(folder, 0o755)  # it is copied with its rights; others may use a kernel of a prefix
        prefix: Optional[str] = sys.prefix if given.sys_prefix else given.prefix or None
        return str(KernelSpecManager().install_kernel_spec(folder, given.name, user=prefix is None, prefix=prefix))


def _refuse(reason: str) -> int:
    print("memtrace: " + reason, file=sys.stderr)
    return 2


def main(words: list[str]) -> int:
    """Installs the kernel, and prints where. Returns 2 if it cannot, and says why."""
    given = _arguments(words)
    if not re.fullmatch(r"[A-Za-z0-9._-]+", given.name):
        return _refuse(f"--name {given.name}: a kernel's name has letters, digits, '.', '_' and '-' only")
    try:
        import ipykernel as _  # noqa: F401
        place = _install(given)
    except ImportError:
        return _refuse(f"{sys.executable} has no ipykernel; {sys.executable} -m pip install ipykernel, or name another "
                       "Python with --python")
    except OSError as error:
        return _refuse(f"{error.filename}: {error.strerror}; choose a folder that you may write: --user or --prefix DIR")
    print(f"The kernel {given.name} is in {place}. Choose it in Jupyter, or: jupyter lab, jupyter console --kernel "
          f"{given.name}")
    return 0
