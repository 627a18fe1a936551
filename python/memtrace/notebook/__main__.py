# Purpose: `python -m memtrace.notebook`, which the command `memtrace jupyter` becomes.
"""Installs the kernel."""
import sys

from .kernel_spec import main

sys.exit(main(sys.argv[1:]))
