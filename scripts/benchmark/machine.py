"""What scripts/bench measured on: figures of another machine, or of other versions, are other figures."""
import os
import platform
import re
import subprocess
import sys

VERSIONS = {"heaptrack": ["heaptrack", "--version"], "g++": ["g++", "--version"], "xz": ["xz", "--version"],
            "sqlite": ["sqlite3", "--version"], "redis": ["redis-server", "--version"],
            "valgrind": ["valgrind", "--version"]}
ASK_TORCH = "import importlib.metadata as m; print(m.version('torch'))"


def output(command, **options):
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              **options).stdout
    except OSError:
        return ""


def version(command, **options):
    found = re.search(r"\d+\.\d+(\.\d+)*", output(command, **options))
    return found.group(0) if found else None


def processor():
    found = re.search(r"model name\s*: (.*)", output(["cat", "/proc/cpuinfo"]))
    return found.group(1) if found else platform.machine()


def words(known):
    """One paragraph."""
    said = [f"{os.cpu_count()} cores ({processor()})", f"Linux {platform.release().split('-')[0]}",
            " ".join(platform.libc_ver()), f"CPython {platform.python_version()}"]
    versions = {"PyTorch": version([sys.executable, "-c", ASK_TORCH])}
    versions.update((name, version(command)) for name, command in VERSIONS.items())
    for tool in known:
        if tool.name == "memray":
            versions["memray"] = version([sys.executable, "-m", "memray", "--version"],
                                         env={**os.environ, **tool.environment(None, "")})
        if tool.name == "gperftools":
            versions["gperftools"] = version(["dpkg-query", "-W", "-f", "${Version}", "libgoogle-perftools4"])
    said += [f"{name} {number}" for name, number in versions.items() if number]
    return f"Measured on: {', '.join(said)}."
