# Purpose: the plugin of pytest: runs each marked test alone in a traced process, and compares it with its budgets.
# Loaded by pytest: by the entry point of the wheel, or by -p memtrace.pytest_plugin.
"""`pytest --memtrace` for tests with `@pytest.mark.memtrace("peak(host, tensor) <= 64MiB")`."""
from __future__ import annotations

import os
import platform
import sys
from typing import Any, Optional

import pytest

from ..command import CommandError, find_command
from .traced_test import TracedTests

_MARKER = ('memtrace("EXPRESSION <= SIZE", ...): with --memtrace, run this test in a traced process and fail it if it '
           'breaks one of these budgets, as in memtrace("peak(host, tensor) <= 64MiB")')


def pytest_addoption(parser: Any) -> None:
    """Adds the options."""
    group = parser.getgroup("memtrace")
    group.addoption("--memtrace", action="store_true", default=False,
                    help="run each test that has the marker memtrace in a traced process, and check its budgets")
    group.addoption("--memtrace-out", metavar="DIR", default=None,
                    help="keep the traces, in a directory below DIR for each test (default: delete them)")


def missing_platform() -> Optional[str]:
    """Returns why memtrace cannot trace on this platform; None if it can."""
    here = f"{platform.system()} on {platform.machine()}"
    supported = sys.platform == "linux" and platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"
    return None if supported else f"memtrace needs x86-64 Linux with glibc; this is {here}"


def pytest_configure(config: Any) -> None:
    """Registers the marker. With --memtrace, also what runs the marked tests."""
    config.addinivalue_line("markers", _MARKER)
    if not config.option.memtrace:
        return
    if config.option.usepdb or getattr(config.option, "trace", False):
        raise pytest.UsageError("--memtrace: a debugger cannot reach the process of a traced test; "
                                "run without --memtrace, or without --pdb and --trace")
    reason = missing_platform()
    if reason is None:
        try:
            find_command()
        except CommandError as error:
            raise pytest.UsageError(f"--memtrace: {error}") from error
    out: Optional[str] = config.option.memtrace_out
    config.pluginmanager.register(TracedTests(config, reason, out and os.path.abspath(out)), "memtrace-traced-tests")
