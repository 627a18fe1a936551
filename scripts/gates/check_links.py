#!/usr/bin/env python3
"""Purpose: every relative link of a Markdown file leads to a file, and its #part to a heading, that exists."""
import os
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)[^)]*\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)


def headings(path):
    with open(path, encoding="utf-8") as file:
        for line in FENCE.sub("", file.read()).splitlines():
            if line.startswith("#"):
                name = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
                yield name.replace(" ", "-")


def faults(path):
    with open(path, encoding="utf-8") as file:
        text = FENCE.sub(lambda fence: "\n" * fence.group().count("\n"), file.read())
    for number, line in enumerate(text.splitlines(), 1):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            where = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if not os.path.exists(where):
                yield f"{path}:{number}: no such file: {target}"
            elif anchor and where.endswith(".md") and anchor not in headings(where):
                yield f"{path}:{number}: no such heading: {target}"


found = [fault for path in sys.argv[1:] for fault in faults(path)]
print("\n".join(found), file=sys.stderr)
sys.exit(1 if found else 0)
