# Purpose: where the command `memtrace` lies beside this package.
# Imported by __main__.py and command.py.
"""Places of the command."""
import os

_FOLDER = os.path.dirname(os.path.abspath(__file__))

# In the wheel; in an install tree, whose package is lib/memtrace/python/memtrace.
PLACES = (os.path.join(_FOLDER, "bin", "memtrace"),
          os.path.normpath(os.path.join(_FOLDER, "..", "..", "..", "..", "bin", "memtrace")))


def beside_package() -> "str | None":
    """Returns the path of the command that was installed with this package; None if there is none."""
    return next((place for place in PLACES if os.path.isfile(place) and os.access(place, os.X_OK)), None)
