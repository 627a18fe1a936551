"""Writes the sources of the libraries that PyTorch's CUDA wheel is linked against: a function for each name it wants.

usage: library_stubs.py TORCH OUT     TORCH: the folder torch of the unpacked wheel; OUT: NAME.c and NAME.map go there
The names and their versions are those of the wheel's undefined symbols. Each function is weak, so that a source of ours
beside it can have one that does more.
"""
import glob
import os
import re
import subprocess
import sys
from collections import defaultdict

# Libraries without versions of their symbols, by the prefix of their names.
PLAIN = (("libnccl.so.2", "nccl"), ("libcufile.so.0", "cuFile"), ("libcusparseLt.so.0", "cusparseLt"),
         ("libcuda.so.1", "cu[A-Z]"))
VERSIONS = {"NVSHMEM": "libnvshmem_host.so.3"}  # a version that is not the name of its library
NOT_SUPPORTED = 801  # of CUDA itself; of the libraries above it each call succeeds and does nothing


def wanted(torch):
    """Names by library, each with the version that the wheel asks for, or None."""
    names = defaultdict(dict)
    libraries = glob.glob(os.path.join(torch, "lib", "lib*torch*.so")) + glob.glob(os.path.join(torch, "lib", "libc*.so"))
    listing = subprocess.run(["readelf", "--dyn-syms", "--wide", *libraries], capture_output=True, text=True, check=True)
    for line in listing.stdout.splitlines():
        fields = line.split()
        if len(fields) < 8 or fields[6] != "UND":
            continue
        name, _, version = fields[7].partition("@")
        version = version.lstrip("@")
        if re.match(r"lib(cu|nv)", version) or version in VERSIONS:
            names[VERSIONS.get(version, version)][name] = version
        elif not version:
            for library, prefix in PLAIN:
                if re.match(prefix, name):
                    names[library][name] = None
                    break
    names["libcurand.so.10"] = {}
    # What the allocator asks of the driver by name.
    with open(os.path.join(torch, "lib", "libc10_cuda.so"), "rb") as file:
        for name in re.findall(rb"(?<=\0)cu[A-Z]\w{4,}(?=\0)", file.read()):
            names["libcuda.so.1"].setdefault(name.decode(), None)
    return names


def body(library, name):
    if name.startswith("cuGetError"):
        return f'long {name}(int error, const char** out) {{ (void)error; *out = "an error of a stand-in"; return 0; }}'
    if library.startswith(("libcuda.", "libcudart.")):
        return f"long {name}(void) {{ return {NOT_SUPPORTED}; }}"
    if re.search(r"(Get|Last)Error(String|Name)?$|ErrorString$|StatusString$|StatusName$", name):
        return f'const char* {name}(void) {{ return "an answer of a stand-in"; }}'
    if library.startswith("libcufft") and "Create" in name:
        return f"long {name}(int* out) {{ *out = 1; return 0; }}"
    if "Create" in name:
        return f"long {name}(void** out) {{ static char made; *out = &made; return 0; }}"
    return f"long {name}(void) {{ return 0; }}"


def source(library, names):
    lines = [f"/* Stands for {library}. Written by library_stubs.py. */", "#include <string.h>"]
    for name in sorted(names):
        lines.append("__attribute__((weak)) " + body(library, name))
    if library == "libcuda.so.1":
        lines.append("void* fake_cuda_other(const char* name) {")
        for name in sorted(names):
            lines.append(f'  if (strcmp(name, "{name}") == 0) return (void*)&{name};')
        lines += ["  return 0;", "}"]
    return "\n".join(lines) + "\n"


def main():
    torch, out = sys.argv[1:]
    for library, names in wanted(torch).items():
        with open(os.path.join(out, library + ".c"), "w", encoding="utf-8") as file:
            file.write(source(library, names))
        versions = {version for version in names.values() if version}
        with open(os.path.join(out, library + ".map"), "w", encoding="utf-8") as file:
            file.write(f"{''.join(versions)} {{ global: *; }};\n")  # none, or one for all names


if __name__ == "__main__":
    main()
