#!/usr/bin/env python3
"""Job: includes follow the arrows, and a file says in its first two lines which room it is in.

usage: check_layers.py ROOT        the tree
       check_layers.py --planted ROOT   a tree of a few files: no targets are looked for

    hooks -> record -> coarse -> format <- trace <- fold <- report <- cli
    hooks -> api        cupti -> format, api        report -> symbols -> trace, report -> evidence
    trace, symbols, evidence, report, cli -> files

A room may also include what the rooms it includes may: a cli that passes a fold's result on needs its type.
What is allowed beyond the arrows, and why:
  analyzer rooms -> format   the shapes cross every room's interface (ids, kinds)
  python -> record           the bootstrap's C side records phases; hooks -> python starts it
  tests -> everything        a unit test includes the room it tests
"""
import argparse
import os
import re
import sys

# room: (folder, rooms it may include, target)
ROOMS = {
    "format": ("preload/format", (), "memtrace_format"),
    "api": ("preload/api", (), None),
    "coarse": ("preload/coarse", ("format",), "memtrace_coarse"),
    "record": ("preload/record", ("coarse", "format"), "memtrace_record"),
    "python": ("preload/python", ("record", "coarse", "format", "api"), None),
    "hooks": ("preload/hooks", ("record", "coarse", "format", "api", "python"), "memtrace_preload"),
    "cupti": ("cupti", ("format", "api"), "memtrace_cupti"),
    "files": ("analyzer/files", (), "memtrace_files"),
    "trace": ("analyzer/trace", ("files", "format"), "memtrace_trace"),
    "fold": ("analyzer/fold", ("trace", "format"), "memtrace_fold"),
    "symbols": ("analyzer/symbols", ("trace", "files", "format"), "memtrace_symbols"),
    "evidence": ("analyzer/evidence", ("files",), "memtrace_evidence"),
    "report": ("analyzer/report", ("fold", "symbols", "trace", "evidence", "files", "format"),
               "memtrace_report"),
    "cli": ("analyzer/cli", ("report", "fold", "symbols", "trace", "evidence", "files", "format"),
            "memtrace"),
}
INSIDE = ("format", "coarse", "record", "python", "hooks", "cupti")  # run in the traced process
# What allocates, locks, prints or throws has no business there, not even by a header.
FORBIDDEN_INSIDE = re.compile(
    r"^(string|vector|map|set|unordered_map|unordered_set|deque|list|mutex|condition_variable|thread|functional|memory"
    r"|iostream|ostream|istream|sstream|fstream|iomanip|format|stdexcept|exception|filesystem|regex|any|variant"
    r"|cstdio|stdio\.h|spdlog/.*|fmt/.*)$")
TALK = ("cli", "symbols")  # only they log
# A file is opened in one place, which knows what another user may have put at its name.
OPENERS = ("preload/record/os.cpp", "analyzer/files/")
OPEN = re.compile(r"\bSYS_open\w*|\b__NR_open\w*|(?<![\w>])::(?:open|open64|openat|openat2|creat|fopen|fopen64)\s*\("
                  r"|\b(?:fopen|fopen64|openat|openat2|creat)\s*\(|<fstream>|\b[io]?fstream\b|\bfilebuf\b")
SUFFIXES = (".h", ".cpp", ".c", ".def")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
NAMESPACE = re.compile(r"^\s*(?:inline\s+)?namespace\s+memtrace::(\w+)", re.M)


def room_of(path):
    for room, (folder, *_) in ROOMS.items():
        if path.startswith(folder + "/"):
            return room
    return "tests" if path.startswith("tests/") else None


def sources(root):
    for top in ("preload", "analyzer", "cupti", "tests"):
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders[:] = sorted(f for f in folders if f not in ("gates", "__pycache__"))
            for name in sorted(files):
                if name.endswith(SUFFIXES):
                    yield os.path.relpath(os.path.join(folder, name), root)


def check_opening(path, room, lines):
    first, second = (lines + ["", ""])[:2]
    if not re.match(rf"(//|/\*) Room: {room}\.", first):  # /* */ is for the public header, which C89 reads
        yield f"{path}:1: the first line must be '// Room: {room}. ...'"
    if not re.match(r"(//| \*) Job: \S", second):
        yield f"{path}:2: the second line must be '// Job: ...'"


def check_includes(root, path, room, lines):
    may = (room, *ROOMS[room][1])
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quote, target = found.groups()
        where = f"{path}:{number}"
        if room in INSIDE and FORBIDDEN_INSIDE.match(target):
            yield f"{where}: <{target}> allocates, locks, prints or throws: not in the traced process"
        if target.startswith("spdlog/") and room not in TALK:
            yield f"{where}: only {' and '.join(TALK)} log"
        if quote == "<":
            continue
        other = room_of(target)
        if other is None:
            yield f"{where}: an include path starts at the root of the tree, not '{target}'"
        elif other not in may:
            yield f"{where}: {room} may not include {other}"


def check_opens(path, room, lines):
    if room == "tests" or path.startswith(OPENERS):
        return
    for number, line in enumerate(lines, 1):
        found = OPEN.search(line.split("//")[0])
        if found:
            yield f"{path}:{number}: '{found.group()}': files are opened in {' and '.join(OPENERS)} alone"


def check_namespace(path, room, text):
    for other in set(NAMESPACE.findall(text)) - {room}:
        yield f"{path}: namespace memtrace::{other} in room {room}"
    declares = re.search(r"^(?!\s*(#|//|$))", text, re.M)  # record/forbidden.h has nothing but pragmas
    if path.endswith(".h") and room != "api" and declares and not NAMESPACE.search(text):
        yield f"{path}: a header's names are in namespace memtrace::{room}"


def check_forbidden_last(path, text):
    """In a hook file the poisoned names come after every other include, or a system header would trip over them."""
    includes = [line for line in text.splitlines() if INCLUDE.match(line)]
    poison = [i for i, line in enumerate(includes) if "preload/record/forbidden.h" in line]
    if path.endswith(".cpp") and poison != [len(includes) - 1]:
        yield f"{path}: preload/record/forbidden.h must be its last include"


def check_targets(root):
    for room, (folder, _, target) in ROOMS.items():
        present = os.path.isdir(os.path.join(root, folder)) and any(
            name.endswith(".cpp") for name in os.listdir(os.path.join(root, folder)))
        if target is None or not present:
            continue
        text = ""
        for place in (folder, os.path.dirname(folder)):
            file = os.path.join(root, place, "CMakeLists.txt")
            if place and os.path.exists(file):
                with open(file, encoding="utf-8") as opened:
                    text += opened.read()
        if not re.search(rf"add_(library|executable)\(\s*{target}\b", text):
            yield f"{folder}: no target named {target}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--planted", action="store_true")
    args = parser.parse_args()
    faults = [] if args.planted else list(check_targets(args.root))
    has_forbidden = os.path.exists(os.path.join(args.root, "preload/record/forbidden.h"))
    for path in sources(args.root):
        with open(os.path.join(args.root, path), encoding="utf-8") as file:
            text = file.read()
        room = room_of(path)
        if room is None:
            faults.append(f"{path}: in no room")
            continue
        faults += check_opening(path, room, text.splitlines())
        if room == "tests":
            continue
        faults += check_includes(args.root, path, room, text.splitlines())
        faults += check_opens(path, room, text.splitlines())
        if path.endswith(".def"):
            continue
        faults += check_namespace(path, room, text)
        if has_forbidden and room == "hooks":
            faults += check_forbidden_last(path, text)
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
