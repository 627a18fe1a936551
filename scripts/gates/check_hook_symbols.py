#!/usr/bin/env python3
"""Purpose: the preload object takes and gives no more than it may.

usage: check_hook_symbols.py LIBRARY [--allow FILE] [--intercepted FILE] [--exports MAP]
       check_hook_symbols.py --floor FILE

What is asked of it, and why:
  undefined names  only those on the allow-list: a new one is a decision, made by adding a line there
  sanitizers       no name that a sanitizer's runtime stands before: it crashes before the runtime has begun
  C++ runtime      none: it allocates, throws, locks, and may not be in the process
  DT_NEEDED        libc alone: a preload whose needs are not met keeps every child from starting
  glibc floor      2.28, by version needs; newer names are taken by dlsym
  exports          those of exports.map, each of them; a stray export changes what a program sees
  TLS              initial-exec and small: any other model calls __tls_get_addr, which allocates
  stack, text      no executable stack, no text relocations
  binding          -z now: a lazy binding would run the loader inside a hook
  constructors     one of ours, plus the toolchain's frame_dummy
With --floor, only the glibc floor: of what runs beside a program, but not in its malloc.
"""
import argparse
import fnmatch
import os
import re
import subprocess
import sys

FLOOR = (2, 28)
NEEDED = {"libc.so.6"}
NEEDED_TOO = {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}  # where a loader's symbol is used directly
TLS_LIMIT = 256
INIT_LIMIT = 2  # frame_dummy and ours
FINI_LIMIT = 2  # __do_global_dtors_aux and ours
WORD = 8
# Weak references of the toolchain's start files: nobody's decision, never called when absent.
TOOLCHAIN = {"__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
CPP_RUNTIME = re.compile(r"^(_Z|__cxa_(?!finalize)|__gxx_|_Unwind_|__dynamic_cast)")


def tool(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def read_names(path):
    with open(path, encoding="utf-8") as file:
        lines = (line.partition("#")[0].strip() for line in file)
        return {line for line in lines if line}


def read_exports(path):
    """The global patterns of a version script, comments and version names left out."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/|#[^\n]*|//[^\n]*", "", file.read(), flags=re.S)
    patterns = []
    for part in re.findall(r"global\s*:(.*?)(?=local\s*:|\})", text, flags=re.S):
        patterns += [name.strip().strip('"') for name in part.split(";") if name.strip()]
    return patterns


def dynamic_names(library, which):
    for line in tool("nm", "-D", which, library).splitlines():
        name = line.split()[-1].partition("@")[0]
        if line.split()[-2] != "A":  # a version's own name
            yield name


def check_undefined(library, allow_file, intercepted_file):
    allow = read_names(allow_file)
    intercepted = read_names(intercepted_file)
    for name in sorted(set(dynamic_names(library, "--undefined-only")) - TOOLCHAIN):
        if name in intercepted:
            yield f"a sanitizer stands before it: {name} (take libc's own, see preload/os/libc/libc_table.h)"
        elif CPP_RUNTIME.match(name) and name not in allow:
            yield f"needs the C++ runtime: {name} (it allocates, throws or locks: see the rules in preload/README.md)"
        elif name not in allow:
            yield f"not on the allow-list: {name} (if a hook may call it, add it to {allow_file} with the reason)"


def check_exports(library, map_file):
    patterns = read_exports(map_file)
    names = set(dynamic_names(library, "--defined-only"))
    for name in sorted(names):
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            yield f"exported, but not in {map_file}: {name} (a hook: add it there; else make it static)"
    for pattern in patterns:
        if not any(sign in pattern for sign in "*?[") and pattern not in names:
            yield f"promised by {map_file}, but not exported: {pattern} (define it with EXPORT, or remove it there)"


def check_dynamic(library):
    dynamic = tool("readelf", "-dW", library)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    if not NEEDED <= needed or needed - NEEDED - NEEDED_TOO:
        yield f"DT_NEEDED is {sorted(needed)}, and may be {sorted(NEEDED)} only"
    if re.search(r"\(RPATH\)|\(RUNPATH\)", dynamic):
        yield "it has a RUNPATH, and needs none"
    if "(TEXTREL)" in dynamic or re.search(r"FLAGS.*\bTEXTREL\b", dynamic):
        yield "it has text relocations"
    if not re.search(r"\(FLAGS.*\b(BIND_NOW|NOW)\b", dynamic):
        yield "it is bound lazily: link it with -z now"
    for array, limit, when in (("INIT", INIT_LIMIT, "load"), ("FINI", FINI_LIMIT, "exit")):
        size = re.search(rf"\({array}_ARRAYSZ\)\s+(\d+)", dynamic)
        count = int(size.group(1)) // WORD if size else 0
        if count > limit:
            yield f"{count} functions run at {when}, {limit} may: is there a global with a constructor or destructor?"


def check_versions(library):
    for version in sorted(set(re.findall(r"Name: (\S+)\s+Flags", tool("readelf", "-VW", library)))):
        number = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version)
        if not number:
            yield f"needs version {version}, which is not a plain glibc version"
        elif (int(number[1]), int(number[2])) > FLOOR:
            users = [line.split()[-1] for line in tool("nm", "-D", "--undefined-only", library).splitlines()
                     if line.endswith("@" + version)]
            yield f"needs {version}, above the floor {FLOOR[0]}.{FLOOR[1]}: {' '.join(users)} (use dlsym)"


def check_segments(library):
    for line in tool("readelf", "-lW", library).splitlines():
        field = line.split()
        if line.strip().startswith("GNU_STACK") and "E" in field[6]:
            yield "it asks for an executable stack"
        if line.strip().startswith("TLS") and int(field[5], 16) > TLS_LIMIT:
            yield f"{int(field[5], 16)} bytes of TLS, {TLS_LIMIT} may be"
    relocations = tool("readelf", "-rW", library)
    if re.search(r"DTPMOD|TLSDESC", relocations) or "__tls_get_addr" in tool("nm", "-D", library):
        yield "its TLS is not initial-exec: build with -ftls-model=initial-exec"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--floor", action="store_true")
    parser.add_argument("--allow", default=os.path.join(here, "hook_symbols.allow"))
    parser.add_argument("--intercepted", default=os.path.join(here, "hook_symbols.intercepted"))
    parser.add_argument("--exports", default=os.path.join(here, "..", "..", "preload", "hooks", "exports.map"))
    args = parser.parse_args()
    faults = [*check_versions(args.library)]
    if not args.floor:
        faults += [*check_undefined(args.library, args.allow, args.intercepted),
                   *check_exports(args.library, args.exports), *check_dynamic(args.library),
                   *check_segments(args.library)]
    for fault in faults:
        print(f"{args.library}: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
