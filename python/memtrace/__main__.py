# Purpose: the command `memtrace` of an installed wheel: becomes the executable beside this file.
# Run by `memtrace` and by `python -m memtrace`.
"""The command memtrace, as installed by pip."""
import os
import sys


def _refuse(reason: str) -> int:
    print("memtrace: " + reason, file=sys.stderr)
    return 2


def main() -> int:
    """Becomes the command, with the arguments of this process. Returns 2 if it cannot, and says why."""
    # The registry has another project of this name. pip lets it write over these files.
    import memtrace

    if getattr(memtrace, "DISTRIBUTION", None) != "libmemtrace":
        return _refuse(f"{memtrace.__file__} is of another project; pip uninstall memtrace, then pip install "
                       "--force-reinstall libmemtrace")
    from memtrace.places import PLACES, beside_package

    command = beside_package() or PLACES[0]
    words = sys.argv[1:]
    if words[:1] in (["export"], ["fleet"], ["jupyter"], ["mcp"]):  # the Python with their packages is this one
        words[1:1] = ["--python", sys.executable]
    try:
        os.execv(command, ["memtrace", *words])
    except OSError as error:
        return _refuse(f"{command}: {error.strerror}; pip install --force-reinstall libmemtrace")


if __name__ == "__main__":
    sys.exit(main())
