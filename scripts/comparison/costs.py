"""Purpose: what each tool costs with the same programs, in rounds beside bare runs, measured by scripts/bench."""
import glob
import os
import sys

import programs
import questions
import run as bench
import table
import tools

HERE = os.path.dirname(os.path.abspath(__file__))
COSTLY = ("foreach_temporaries", "metric_keeps_graph", "serialized_in_memory", "small_blocks")


class Fil(tools.Tool):
    name, title = "fil", "Fil"
    in_process = False

    def __init__(self, packages):
        self.packages = packages

    def missing(self):
        there = os.path.isdir(os.path.join(self.packages, "filprofiler"))
        return None if there else "Fil is missing: scripts/compare --setup"

    def fits(self, program):
        return program.python

    def environment(self, program, folder):
        return {"PYTHONPATH": self.packages}

    def command(self, command, program, folder):
        return [command[0], "-m", "filprofiler", "--no-browser", "-o", os.path.join(folder, "fil"), "run", *command[1:]]

    def files(self, folder):
        return glob.glob(os.path.join(folder, "fil", "**", "*"), recursive=True)

    def recorded(self, program, folder, files, output):
        if not any(path.endswith(".svg") for path in files):
            raise tools.Nothing("no graph")


class Profiler(tools.Tool):
    name, title = "torch.profiler", "torch.profiler"

    def fits(self, program):
        return program.python

    def command(self, command, program, folder):
        return [command[0], os.path.join(HERE, "wrappers", "with_profiler.py"), *command[1:]]

    def recorded(self, program, folder, files, output):
        if "Self CPU Mem" not in output:
            raise tools.Nothing("no table")


def program_of(question):
    """Returns the program as scripts/bench runs it."""
    def command(place):
        return question.program(place.shared)
    return programs.Program(question.name, question.title, command, small=False, python=question.python,
                            tensors=question.torch, least=10)


def known(arguments):
    """Returns bare, bare again, and each tool with its defaults. memtrace also records each block, as the others do,
    and memray also native stacks."""
    chosen = {tool.name: tool for tool in tools.known(arguments.library, arguments.command, arguments.memray_venv)}
    names = ("bare", "again", "memtrace", "memtrace-python", "memray", "memray-native", "heaptrack")
    out = [chosen[name] for name in names] + [Fil(arguments.fil), Profiler()]
    for tool in out:
        tool.slow = False  # each runs in each round
    return bench.left_out(out)


def tables(arguments, scratch, wanted):
    """Returns the table of each program by its name."""
    place = programs.Place(os.path.join(scratch, "run"), os.path.join(scratch, "shared"))
    os.makedirs(place.shared)
    bench.compile_helpers(place.shared)
    tools_here = known(arguments)
    out = {}
    for question in questions.all_questions():
        if question.name in COSTLY and question.name in wanted:
            result = bench.bench(program_of(question), tools_here, place, arguments.rounds, arguments.rounds)
            out[f"cost {question.name}"] = table.of(result)
            print(out[f"cost {question.name}"], file=sys.stdout, flush=True)
    return out
