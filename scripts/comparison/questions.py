"""Purpose: the programs with a known answer that scripts/compare gives to each tool.

Most are programs of tests/mysteries, which repeat public threads. Two are in cases/. Each prints `truth BYTES` and
marks the lines that a good answer may name with CAUSE.
"""
import dataclasses
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CASES = os.path.join(HERE, "cases")
PROGRAMS = os.path.join(ROOT, "tests", "mysteries", "programs")


@dataclasses.dataclass
class Question:
    name: str
    title: str
    file: str
    finding: str  # the id of memtrace's finding; "lines": no finding states this cause
    shares: tuple = (1,)  # a figure of these multiples of the truth is right, too
    limit: int = 0  # MiB of the cgroup
    ranks: int = 0
    cuda: bool = False
    killed: bool = False  # the program is killed, and the screen is that of what is left
    torch: bool = True

    @property
    def python(self):
        return self.file.endswith(".py")

    def cause_lines(self):
        with open(self.file, encoding="utf-8") as file:
            return [number for number, line in enumerate(file, 1) if line.rstrip().endswith("CAUSE")]

    def program(self, folder):
        """Returns the command that runs the program bare, from a copy in `folder`: memray writes beside the program."""
        place = os.path.join(folder, os.path.basename(self.file))
        with open(self.file, encoding="utf-8") as source, open(place, "w", encoding="utf-8") as copy:
            copy.write(source.read())
        if self.python:
            return ["python" if self.cuda else sys.executable, place]
        binary = os.path.splitext(place)[0]
        subprocess.run(["g++", "-O1", "-g", "-o", binary, place], check=True)
        return [binary]


def corpus(group, name, title, finding, **more):
    return Question(name, title, os.path.join(PROGRAMS, group, f"{name}.py"), finding, **more)


def all_questions():
    return [
        corpus("peaks", "foreach_temporaries", "temporaries of the optimizer at the peak", "foreach-temporaries"),
        corpus("leaks", "metric_keeps_graph", "8 MiB more in each of 24 steps", "leak-per-step",
               shares=(1, 23, 24)),
        corpus("peaks", "serialized_in_memory", "a peak in a native library (safetensors, Rust)",
               "serialize-in-memory"),
        corpus("deaths", "adam_where_sgd_fitted", "killed at a memory limit by Adam's states",
               "optimizer-states-first-step", limit=940, killed=True),
        Question("killed_by_signal", "killed by SIGKILL", os.path.join(CASES, "killed_by_signal.py"), "lines",
                 killed=True, torch=False),
        corpus("jobs", "ranks_load_the_whole_model", "two ranks that each load the model", "rank-copies", ranks=2,
               shares=(1, 0.5)),
        Question("small_blocks", "C++ alone: 300,000 small blocks", os.path.join(CASES, "small_blocks.cpp"), "lines",
                 torch=False),
        corpus("devices", "checkpoint_stays_on_gpu", "a second copy of the weights on the GPU (CUDA node)",
               "parameter-copy", cuda=True),
    ]


def truth_of(output):
    """Returns the figure that the program printed, in bytes, or None."""
    found = re.search(r"^truth (\d+)$", output, re.M)
    return int(found[1]) if found else None
