#!/usr/bin/env python3
"""Purpose: every Python file compiles, and none carries tabs or trailing blanks."""
import sys


def faults(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        compile(text, path, "exec")
    except SyntaxError as error:
        yield f"{path}:{error.lineno}: SyntaxError: {error.msg}"
    for number, line in enumerate(text.splitlines(), 1):
        if line != line.rstrip() or "\t" in line:
            yield f"{path}:{number}: tab or trailing blank"


found = [fault for path in sys.argv[1:] for fault in faults(path)]
print("\n".join(found), file=sys.stderr)
sys.exit(1 if found else 0)
