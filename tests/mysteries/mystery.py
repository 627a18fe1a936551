"""Purpose: reads what a program of the corpus states about itself: its fields, its marked lines, its command."""
import ast
import glob
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
FIELDS = ("Purpose", "Thread", "Question", "Answer", "Finding", "Needs", "Pattern", "Run")
REQUIRED = ("Purpose", "Thread", "Question", "Answer", "Finding")
# Packages that scripts/setup installs apart from PyTorch's, and the folder of each.
FOLDERS = {"pandas": "datasets", "pyarrow": "datasets", "datasets": "datasets", "deepspeed": "deepspeed",
           "accelerate": "accelerate"}


class Mystery:
    """A program of the corpus. `fields` maps the name of a field to its text."""

    def __init__(self, path):
        self.path = path
        self.group = os.path.basename(os.path.dirname(path))
        self.name = os.path.splitext(os.path.basename(path))[0]
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.lines = [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# CAUSE")]
        self.fields = fields_of(ast.get_docstring(ast.parse(text)) or "")
        missing = [field for field in REQUIRED if not self.fields.get(field)]
        if missing or not self.lines:
            raise ValueError(f"{path}: no {', '.join(missing or ['line that ends with # CAUSE'])}")

    @property
    def finding(self):
        return self.fields["Finding"]

    @property
    def folders(self):
        """Returns the folders of packages that the program needs beside those of PyTorch."""
        return sorted({FOLDERS[name] for name in re.findall(r"\w+", self.fields.get("Needs", "")) if name in FOLDERS})

    @property
    def limit(self):
        """Returns the limit of the program's cgroup in bytes, or None."""
        size = re.fullmatch(r"(\d+)M", self.option("limit") or "")
        return int(size[1]) << 20 if size else None

    @property
    def ranks(self):
        return int(self.option("ranks") or 0)

    @property
    def on_cuda(self):
        return "cuda" in self.fields.get("Run", "").split()

    def option(self, name):
        found = re.search(rf"\b{name}=(\S+)", self.fields.get("Run", ""))
        return found[1] if found else None


def fields_of(docstring):
    out, name = {}, None
    for line in docstring.splitlines():
        start = re.match(rf"({'|'.join(FIELDS)}): (.*)", line)
        if start:
            name = start[1]
            out[name] = start[2].strip()
        elif name and line.startswith(" "):
            out[name] += " " + line.strip()
        else:
            name = None
    return out


def all_mysteries():
    return [Mystery(path) for path in sorted(glob.glob(os.path.join(PROGRAMS, "*", "*.py")))]


def truth_of(stdout):
    """Returns the figure that the program printed, in bytes, or None."""
    found = re.search(r"^truth (\d+)$", stdout, re.M)
    return int(found[1]) if found else None
