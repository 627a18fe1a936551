# Purpose: `python -m memtrace.mcp_server`, the server without the command `memtrace mcp`.
"""Starts the server."""
import sys

from .start import main

sys.exit(main(sys.argv[1:]))
