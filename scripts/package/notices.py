#!/usr/bin/env python3
"""Purpose: writes the notices of the libraries that are linked into memtrace.

usage: notices.py OUTPUT FILE...

FILE is a static archive, or a header of a library that has only headers. Of each one's Debian package, OUTPUT gets the
name, the version, the place of the source, and its copyright file. It then gets each licence text that these refer to.
Without Debian's packages, OUTPUT has the names of the files alone.
"""
import os
import re
import subprocess
import sys

LICENSES = "/usr/share/common-licenses"
HEAD = """memtrace is under the Apache License 2.0. It is linked with the libraries below, each under its own licence.
The source of memtrace, with which it can be linked again to other versions of them, is its source distribution of the
same version.
"""


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    return done.stdout if done.returncode == 0 else ""


def package_of(path):
    """Returns the installed package that has the file, or None. /lib may be a link to /usr/lib."""
    for name in {path, os.path.realpath(path), re.sub("^/usr", "", path)}:
        owner = output_of("dpkg", "-S", name).partition(": ")[0]
        if owner:
            return owner.split(",")[0]
    return None


def source_of(package):
    """Returns the name and version of the source package."""
    text = output_of("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package)
    return tuple(text.split()) if text else (package, "of unknown version")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def section(title, text):
    return f"\n{'=' * 100}\n{title}\n{'=' * 100}\n\n{text.rstrip()}\n"


def notices(paths):
    found = {}
    unknown = []
    for path in paths:
        package = package_of(path)
        if package:
            found.setdefault(source_of(package), package.partition(":")[0])
        else:
            unknown.append(path)
    out = HEAD
    licences = set()
    for (source, version), package in sorted(found.items()):
        text = read(f"/usr/share/doc/{package}/copyright")
        licences |= {name.rstrip(".") for name in re.findall(rf"{LICENSES}/([\w.+-]+)", text)}
        out += section(f"{source} {version}, Debian's source package", text)
    for path in sorted(unknown):
        out += section(os.path.basename(path), "Its licence is that of its project.")
    for name in sorted(name for name in licences if os.path.exists(os.path.join(LICENSES, name))):
        out += section(f"The text of {name}", read(os.path.join(LICENSES, name)))
    return out


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(notices(sys.argv[2:]))


if __name__ == "__main__":
    main()
