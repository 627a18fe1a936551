#!/usr/bin/env python3
"""Purpose: how the sources are laid out: who includes what, how a file begins, what only one folder may do.

usage: check_layers.py ROOT        the tree
       check_layers.py --planted ROOT   a tree of a few files: only with a layers.txt of its own are rows
                                        that no file needs, and CMake, looked at; else memtrace's own counts
"""
import argparse
import os
import re
import sys
from collections import defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
# What allocates, locks, prints or throws has no business in the traced process, not even by a header.
FORBIDDEN_INSIDE = re.compile(
    r"^(string|vector|map|set|unordered_map|unordered_set|deque|list|mutex|condition_variable|thread|functional|memory"
    r"|iostream|ostream|istream|sstream|fstream|iomanip|format|stdexcept|exception|filesystem|regex|any|variant"
    r"|cstdio|stdio\.h|spdlog/.*|fmt/.*)$")
INSIDE = ("preload/", "cupti/")
WARNS = ("analyzer/cli", "analyzer/job", "analyzer/symbols", "analyzer/files")  # only they warn
# A file is opened in one place, which knows what another user may have put at its name.
OPENERS = ("preload/os/files.cpp", "preload/os/gate/raw_call.h", "analyzer/files/")
OPEN = re.compile(r"\bSYS_open\w*|\b__NR_open\w*|(?<![\w>])::(?:open|open64|openat|openat2|creat|fopen|fopen64)\s*\("
                  r"|\b(?:fopen|fopen64|openat|openat2|creat)\s*\(|<fstream>|\b[io]?fstream\b|\bfilebuf\b")
SUFFIXES = (".h", ".cpp", ".c", ".def")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# A definition, not a declaration, an alias, or a member that is defined outside of its class.
TYPE = re.compile(r"^[ \t]*(?:struct|class|enum class|enum|union)\s+(?:alignas\([^)]*\)\s*)?(?:\[\[[\w:]+\]\]\s*)?(\w+)"
                  r"(?:\s+final)?\s*(?::(?!:)[^;{]*)?\{", re.M)
NAMESPACE = re.compile(r"^\s*(?:inline\s+)?namespace\s+memtrace::(\w+)", re.M)


class Layers:
    """The rows of layers.txt: folders in their order, with their namespace and the folders that they may include."""

    def __init__(self, path):
        self.namespace, self.may, self.faults = {}, {}, []
        with open(path, encoding="utf-8") as file:
            rows = [line.split("#")[0].split() for line in file]
        for row in filter(None, rows):
            folder, namespace, *may = row
            for other in may:
                if other not in self.may:
                    self.faults.append(f"layers.txt: {folder} includes {other}, which does not stand above it: "
                                       "move the row down, or the code to a folder further up")
            self.namespace[folder], self.may[folder] = namespace, may

    def folder_of(self, path):
        folder = os.path.dirname(path)
        return folder if folder in self.may else None


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def sources(root):
    for top in ("preload", "analyzer", "cupti", "tests"):
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders[:] = sorted(f for f in folders if f not in ("gates", "__pycache__"))
            for name in sorted(files):
                if name.endswith(SUFFIXES):
                    yield os.path.relpath(os.path.join(folder, name), root)


def includes(text):
    """Yields line number, quote and target."""
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            yield number, *found.groups()


def check_opening(path, text):
    """Inside the traced process, the reader of a source must know on which thread and under what lock it runs."""
    if not re.match(r"(//|/\*) Purpose: \S", text):  # /* */ is for the public header, which C89 reads
        yield f"{path}:1: the first line must be '// Purpose: ...'"
    opening = re.match(r"(//.*\n)*", text).group()
    if path.startswith(INSIDE) and path.endswith(".cpp") and "\n// Runs: " not in opening:
        yield f"{path}:2: a line '// Runs: ...' must follow the purpose: on which threads, inside which call"


def way_out(layers, folder, other):
    order = list(layers.may)
    if order.index(other) < order.index(folder):
        return f"add it to the row of {folder} in scripts/gates/layers.txt, or move the code to a folder that may"
    return f"{other} stands below in scripts/gates/layers.txt, so move the code there, or pass it what it needs"


def check_includes(layers, path, folder, text):
    for number, quote, target in includes(text):
        where = f"{path}:{number}"
        if path.startswith(INSIDE) and FORBIDDEN_INSIDE.match(target):
            yield (f"{where}: <{target}> allocates, locks, prints or throws: not in the traced process "
                   "(see preload/README.md)")
        if target == "analyzer/files/warning.h" and not folder.startswith(WARNS):
            yield f"{where}: only {', '.join(WARNS)} print warnings"
        if target.startswith("spdlog/") and path != "analyzer/files/warning.cpp":
            yield f"{where}: spdlog is included in analyzer/files/warning.cpp alone"
        if quote == "<":
            continue
        other = layers.folder_of(target)
        if other is None:
            yield f"{where}: an include path starts at the root of the tree and names a folder of layers.txt, not '{target}'"
        elif other != folder and other not in layers.may[folder]:
            yield f"{where}: {folder} may not include {other}: {way_out(layers, folder, other)}"


def check_opens(path, text):
    if path.startswith(OPENERS):
        return
    for number, line in enumerate(text.splitlines(), 1):
        found = OPEN.search(line.split("//")[0])
        if found:
            yield f"{path}:{number}: '{found.group()}': files are opened in {' and '.join(OPENERS)} alone"


def check_payload(path, text):
    """Only preload/format counts words: elsewhere an event's fields have the names of its struct."""
    if path.startswith("preload/format/"):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(r"\bword\s*\[", line.split("//")[0]):
            yield f"{path}:{number}: the words of a payload: use the struct of the event, preload/format/event_fields.h"


def check_locks(path, text):
    """A forked child frees each lock: it finds them in the list that REGISTER_LOCK makes."""
    for name in re.findall(r"^\s*(?!extern)(?:static )?constinit (?:record::)?SpinLock (\w+)", text, re.M):
        if f"REGISTER_LOCK({name}," not in text:
            yield f"{path}: a forked child does not free {name}: add REGISTER_LOCK({name}, ...) below it"


def check_namespace(path, name, text):
    for other in set(NAMESPACE.findall(text)) - {name}:
        yield f"{path}: namespace memtrace::{other}, not memtrace::{name}"
    declares = re.search(r"^(?!\s*(#|//|$))", text, re.M)  # forbidden.h has nothing but pragmas
    if path.endswith(".h") and name != "api" and declares and not NAMESPACE.search(text):
        yield f"{path}: a header's names are in namespace memtrace::{name}"


def check_forbidden_last(path, text):
    """In a hook file the poisoned names come after every other include, or a system header would trip over them."""
    targets = [target for _, _, target in includes(text)]
    if path.endswith(".cpp") and "preload/os/gate/forbidden.h" not in targets[-1:]:
        yield f"{path}: preload/os/gate/forbidden.h must be its last include"


def circles_of(edges):
    """The strongly connected components of more than one unit (Tarjan 1972), without recursion."""
    index, low, stack, on, out = {}, {}, [], set(), []
    for start in sorted(edges):
        if start in index:
            continue
        work = [(start, iter(sorted(edges[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on.add(start)
        while work:
            unit, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(sorted(edges[other]))))
                    break
                if other in on:
                    low[unit] = min(low[unit], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[unit])
                if low[unit] == index[unit]:
                    circle = []
                    while not circle or circle[-1] != unit:
                        circle.append(stack.pop())
                        on.remove(circle[-1])
                    if len(circle) > 1:
                        out.append(sorted(circle))
    return out


def check_circles(texts):
    """A unit is a source with its header."""
    edges = defaultdict(set)
    for path, text in texts.items():
        unit = os.path.splitext(path)[0]
        edges[unit] |= {os.path.splitext(target)[0] for _, quote, target in includes(text)
                        if quote == '"' and target in texts} - {unit}
    for circle in circles_of(edges):
        yield f"{len(circle)} files include each other: {', '.join(circle)}: move what both need to a file of its own"


def check_types(texts):
    """Each type that is defined, in any scope, has a name of its own."""
    files = defaultdict(set)
    for path, text in texts.items():
        for name in TYPE.findall(text):
            files[name].add(path)
    for name, paths in sorted(files.items()):
        if len(paths) > 1:
            yield f"{name} is the name of several types: {', '.join(sorted(paths))}: rename one"


def check_table(root, layers, texts):
    """What layers.txt allows and no file does; sources that no CMakeLists.txt names."""
    used = defaultdict(set)
    for path, text in texts.items():
        used[os.path.dirname(path)] |= {os.path.dirname(target) for _, quote, target in includes(text) if quote == '"'}
    for folder, may in layers.may.items():
        for other in may:
            if other not in used[folder]:
                yield f"layers.txt: {folder} may include {other} and no file does: remove it from the row"
    for path in texts:
        if not path.endswith(".cpp"):
            continue
        folder, name, listed = os.path.dirname(path), os.path.basename(path), False
        while folder and not listed:
            file = os.path.join(root, folder, "CMakeLists.txt")
            listed = os.path.exists(file) and re.search(rf"[\s/(]{re.escape(name)}\b", read(root, os.path.relpath(file, root)))
            folder = os.path.dirname(folder)
        if not listed:
            yield f"{path}: no CMakeLists.txt names it: add it to {os.path.dirname(path)}/CMakeLists.txt"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--planted", action="store_true")
    args = parser.parse_args()
    own = os.path.join(args.root, "layers.txt")
    layers = Layers(own if os.path.exists(own) else os.path.join(HERE, "layers.txt"))
    faults, texts = list(layers.faults), {}
    has_forbidden = os.path.exists(os.path.join(args.root, "preload/os/gate/forbidden.h"))
    for path in sources(args.root):
        text = read(args.root, path)
        if path.startswith("tests/"):
            faults += check_opening(path, text)
            faults += check_payload(path, text)
            continue
        folder = layers.folder_of(path)
        if folder is None:
            faults.append(f"{path}: its folder is not in layers.txt: add a row to scripts/gates/layers.txt, below the "
                          "folders that it includes")
            continue
        texts[path] = text
        name = layers.namespace[folder]
        faults += check_opening(path, text)
        faults += check_includes(layers, path, folder, text)
        faults += check_opens(path, text)
        faults += check_payload(path, text)
        faults += check_locks(path, text)
        if path.endswith(".def"):
            continue
        faults += check_namespace(path, name, text)
        if has_forbidden and folder.startswith("preload/hooks"):
            faults += check_forbidden_last(path, text)
    faults += check_circles(texts)
    faults += check_types(texts)
    if not args.planted or os.path.exists(own):
        faults += check_table(args.root, layers, texts)
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
