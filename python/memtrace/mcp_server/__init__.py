# Purpose: the server of `memtrace mcp`: lets editors and assistants read traces over stdio.
"""A read-only server of the Model Context Protocol. It needs the package mcp and Python 3.10."""
