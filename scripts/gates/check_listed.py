#!/usr/bin/env python3
"""Purpose: what a second file must name is named there. Nothing else fails if it is not: a test that is not listed
never runs, and a program never calls a hook that is not exported.

usage: check_listed.py ROOT        the tree, or a planted tree of a few files
"""
import fnmatch
import glob
import os
import re
import sys

EXPORTS = "preload/hooks/exports.map"
END_TO_END = "tests/end_to_end/CMakeLists.txt"
VICTIMS = "tests/victims"
PROGRAMS = "tests/end_to_end/support/programs"
FINDINGS = "docs/findings.md"
SYMPTOMS = "docs/symptoms.md"
# A hook: EXPORT int NAME(...), or EXPORT int memtrace_at_NAME(...) __asm__("NAME").
HOOK = re.compile(r"^(?:EXPORT|extern \"C\" __attribute__\(\(visibility\(\"default\"\)\)\))\s+"
                  r"(?:__attribute__\(\(\w+\)\)\s+)?[\w:*&\s]*?\b(\w+)\([^;{]*?\)\s*(?:noexcept\s*)?"
                  r"(?:__asm__\(\"(\w+)\"\)\s*)?[;{]", re.M)
FINDING = re.compile(r"\bid = \"([a-z-]+)\"|\bfinding_at\(\s*\w+,\s*\"([a-z-]+)\"")


def read(root, path):
    full = os.path.join(root, path)
    if not os.path.isfile(full):
        return ""
    with open(full, encoding="utf-8") as file:
        return file.read()


def files(root, *patterns):
    return sorted(os.path.relpath(path, root) for pattern in patterns
                  for path in glob.glob(os.path.join(root, pattern), recursive=True))


def check_unit_tests(root):
    for path in files(root, "tests/unit/**/*_test.cpp"):
        folder, lists = os.path.dirname(path), []
        while folder != "tests":
            lists.append(folder + "/CMakeLists.txt")
            if re.search(rf"[\s(]{re.escape(os.path.relpath(path, folder))}[\s)]", read(root, lists[-1])):
                break
            folder = os.path.dirname(folder)
        else:
            there = next((one for one in lists if read(root, one)), lists[0])
            yield f"{path}: never runs: add it to {there}"


def check_end_to_end(root):
    listed = set()
    for words in re.findall(r"^\s*add_tests\(([^)]*)\)", read(root, END_TO_END), re.M):
        folder, *names = words.split()
        listed |= {(folder, name) for name in names}
    for path in files(root, "tests/end_to_end/*/test_*.py"):
        folder, name = os.path.basename(os.path.dirname(path)), os.path.basename(path)[5:-3]
        if (folder, name) not in listed:
            yield f"{path}: never runs: add {name} to add_tests({folder} ...) in {END_TO_END}"


def check_victims(root):
    """A victim is run by a test in Python or by a script of tests/long, or is a library that another victim opens."""
    users = "".join(read(root, path)
                    for path in files(root, "tests/**/*.py", "tests/long/*", VICTIMS + "/CMakeLists.txt"))
    for path in files(root, VICTIMS + "/*.c", VICTIMS + "/*.cpp"):
        yield f"{path}: never built: move it into a folder of {VICTIMS}"
    for path in files(root, VICTIMS + "/*/*.c", VICTIMS + "/*/*.cpp"):
        name = stem(path)
        if not re.search(rf"\([\"']{name}[\"']|victims/{name}\b|add_library\(victim_{name}\b", users):
            yield (f"{path}: no test runs it: add it to ORDERLY, LARGE or ABRUPT of "
                   "tests/end_to_end/capture/test_victims.py")


def stem(path):
    return os.path.splitext(os.path.basename(path))[0]


def check_names(root):
    """A test names a victim or a program without its folder."""
    for paths, name_of in ((files(root, VICTIMS + "/*/*.c", VICTIMS + "/*/*.cpp"), stem),
                           (files(root, PROGRAMS + "/*/*.*"), os.path.basename)):
        first = {}
        for path in paths:
            other = first.setdefault(name_of(path), path)
            if other != path:
                yield f"{path}: a test finds it or {other}: give one of them another name"


def check_hooks(root):
    found = re.search(r"global:(.*?)local:", read(root, EXPORTS), re.S)
    patterns = [name.strip() for name in found[1].split(";") if name.strip()] if found else []
    for path in files(root, "preload/hooks/**/*.cpp"):
        for name, alias in HOOK.findall(read(root, path)):
            hook = alias or name
            if hook.isupper():  # a macro of a mangled name
                continue
            if not any(fnmatch.fnmatchcase(hook, pattern) for pattern in patterns):
                yield f"{path}: the program never calls the hook {hook}: add it to {EXPORTS}"


def check_findings(root):
    """A row's first cell has the id."""
    page = read(root, FINDINGS)
    for path in files(root, "analyzer/findings/**/*.cpp"):
        for name in map("".join, FINDING.findall(read(root, path))):
            if not re.search(rf"^\| [^|]*`{name}`", page, re.M):
                yield f"{path}: users cannot look up {name}: add its row to {FINDINGS}"
    sources = "".join(read(root, path) for path in files(root, "analyzer/findings/**/*.cpp"))
    for path in (FINDINGS, SYMPTOMS):
        for cell in re.findall(r"^\| ([^|]*) \|", read(root, path), re.M):
            for name in re.findall(r"`([a-z]+(?:-[a-z]+)+)`", cell):
                if f'"{name}"' not in sources:
                    yield f"{path}: memtrace has no finding {name}: remove it from the table"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    root = sys.argv[1]
    faults = [*check_unit_tests(root), *check_end_to_end(root), *check_victims(root), *check_names(root),
              *check_hooks(root), *check_findings(root)]
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
