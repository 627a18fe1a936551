# Purpose: what the parts of the reference share: the sources, the command, and texts as Markdown.
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD_DIR", ROOT / "build" / "dev"))
COMMAND = BUILD / "analyzer" / "memtrace"

# What is shown as code: what is marked so, an option, a variable.
CODE = re.compile(r"(`[^`]+`|(?<![\w`-])--?[a-z][\w-]*|\b[A-Z]+_[A-Z_]+\b)")


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def ask(*words):
    """Returns what the command prints."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LD_PRELOAD", "MEMTRACE"))}
    done = subprocess.run([COMMAND, *words], env=kept, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        raise ValueError(f"{COMMAND} {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def markdown(text):
    """Returns the text of a source as Markdown, on one line. Options and variables become code; code stays as it is."""
    parts = CODE.split(" ".join(text.split()))
    for at, part in enumerate(parts):
        if at % 2 == 0:
            parts[at] = re.sub(r"([\\*_\[\]|])", r"\\\1", part).replace("&", "&amp;").replace("<", "&lt;")
        elif not part.startswith("`"):
            parts[at] = f"`{part}`"
    return "".join(parts)


def table(head, rows):
    """Returns a table. The cells are Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
