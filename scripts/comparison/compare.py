"""Purpose: the measuring half of scripts/compare: gives programs with a known answer to memtrace and to other tools,
and prints what each shows first, and what it costs. scripts/compare --help lists the options."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Behind this folder: the judge of the public mysteries, the CUDA node and cgroups of the tests, and scripts/bench.
sys.path[1:1] = [os.path.join(ROOT, *part) for part in
                 (("tests", "mysteries"), ("tests", "end_to_end", "support"), ("scripts", "benchmark"))]

import answers  # noqa: E402
import costs  # noqa: E402
import machine  # noqa: E402
import questions  # noqa: E402
import table  # noqa: E402
import tools_of_gpu  # noqa: E402
import tools_of_host  # noqa: E402

MIB = 1 << 20
HEAD = ["| tool | your line | figure | cause | shows first | left to read |", "| --- | --- | --- | --- | --- | ---: |"]


def say(text):
    print(f"compare: {text}", file=sys.stderr, flush=True)


def known(arguments):
    return [
        tools_of_host.Memtrace(arguments.library, arguments.command), tools_of_host.Memray(arguments.memray),
        tools_of_host.Memray(arguments.memray, native=True), tools_of_host.Heaptrack(),
        tools_of_host.Fil(arguments.fil), tools_of_host.Profiler(), tools_of_gpu.Snapshot(),
        tools_of_gpu.Mosaic(arguments.mosaic_python, arguments.mosaic),
    ]


def row(tool, answer):
    plural = "s" * (answer.files != 1)
    left = f"{answer.files} file{plural}, {answer.bytes / MIB:.2f} MiB" if answer.files else "nothing"
    if answer.screen is None:
        return f"| {tool.title} | no | no | no | nothing | {left} |"
    words = [["no", "yes"][one] for one in (answer.line, answer.figure)]
    cause = "yes" if answer.cause else answer.screen.cause or "-"
    first = answer.screen.first.replace("|", "\\|").replace("<", "&lt;")  # else <module> is a tag of HTML
    return f"| {tool.title} | {words[0]} | {words[1]} | {cause} | {first} | {left} |"


def table_of(question, tools):
    """Returns the table of what each tool shows of the program, or None if this machine cannot run it."""
    lines, truth = list(HEAD), None
    for tool in tools:
        if not tool.fits(question):
            continue
        try:
            answer = answers.ask(tool, question, truth)
        except unittest.SkipTest as why:
            say(f"{question.name} is left out: {why}")
            return None
        truth = answer.truth
        lines.append(row(tool, answer))
        say(f"{question.name}: {tool.name} ended with {answer.status}: line {answer.line}, figure {answer.figure}")
    return "\n".join([f"#### {question.title}: `{os.path.basename(question.file)}`", "", *lines])


def versions(arguments, tools):
    """Returns what was measured on, in one paragraph."""
    text = machine.words(costs.known(arguments)).rstrip(".")
    for tool in tools:
        if tool.name == "Fil":
            folders = [one for one in os.listdir(arguments.fil) if one.startswith("filprofiler-")]
            text += "".join(re.sub(r"filprofiler-(.*)\.dist-info", r", Fil \1", one) for one in folders)
        if tool.name == "Mosaic":
            done = subprocess.run(["git", "-C", arguments.mosaic, "rev-parse", "--short", "HEAD"], capture_output=True,
                                  text=True, check=False)
            text += f", Mosaic {done.stdout.strip() or 'of an unknown commit'}"
    return text + "."


def several(text):
    return [name for name in text.split(",") if name]


def arguments_of(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    for name in ("library", "command", "memray", "memray-venv", "fil", "mosaic", "mosaic-python"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--question", type=several, default=[])
    parser.add_argument("--tool", type=several, default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-costs", action="store_true")
    parser.add_argument("--only-costs", action="store_true")
    parser.add_argument("--write")
    arguments = parser.parse_args(words)
    names = [question.name for question in questions.all_questions()]
    tools = [tool.name for tool in known(arguments)]
    for option, chosen, there in (("--question", arguments.question, names), ("--tool", arguments.tool, tools)):
        for one in set(chosen) - set(there):
            parser.error(f"{option} {one}: there is no such; there are {', '.join(there)}")
    arguments.question = arguments.question or names
    return arguments


def main():
    arguments = arguments_of(sys.argv[1:])
    tools = []
    for tool in known(arguments):
        if arguments.tool and tool.name not in arguments.tool:
            continue
        why = tool.missing()
        if why:
            say(f"{tool.name} is left out: {why}")
        else:
            tools.append(tool)
    sections = {}
    if not arguments.only_costs:
        for question in questions.all_questions():
            text = table_of(question, tools) if question.name in arguments.question else None
            if text:
                sections[question.name] = text
                print(text + "\n", flush=True)
    if not arguments.no_costs:
        with tempfile.TemporaryDirectory(prefix="compare-costs-") as scratch:
            sections.update(costs.tables(arguments, scratch, arguments.question))
    sections["versions"] = versions(arguments, tools)
    print(sections["versions"])
    if arguments.write:
        table.renew(arguments.write, sections)


if __name__ == "__main__":
    main()
