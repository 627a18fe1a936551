"""Purpose: gives a program to a tool, and returns what the tool shows of it and which files it leaves."""
import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile

import cgroup
import harness
import questions
import screens

LIMIT = 600  # seconds


@dataclasses.dataclass
class Answer:
    truth: int
    status: int
    files: int
    bytes: int
    screen: object  # a Screen, or None if nothing can be read
    line: bool = False
    figure: bool = False
    cause: bool = False


def command_of(tool, question, folder):
    bare = question.program(folder)
    inner = bare if tool.outside else tool.command(bare, question, folder)
    if question.cuda:
        import cuda_node
        cuda_node.require()
        node = [cuda_node.NODE]
        return node + (tool.command(inner, question, folder) if tool.outside else inner)
    if question.ranks:
        launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={question.ranks}",
                    "--no-python"]
        inner = launcher + inner
    return tool.command(inner, question, folder) if tool.outside else inner


def ask(tool, question, known=None):
    """Returns the answer of the tool. `known`: the truth that an earlier run printed, for a program that the tool's own
    memory let die before it printed it. Raises unittest.SkipTest if this machine has no cgroup or no CUDA node."""
    folder = tempfile.mkdtemp(prefix="compare-")
    group = cgroup.Group("compare", question.limit << 20) if question.limit else None
    try:
        command = command_of(tool, question, folder)
        environment = harness.bare_environment(OMP_NUM_THREADS="1", **tool.environment())
        done = subprocess.run(group.inside(command) if group else command, cwd=folder, stdin=subprocess.DEVNULL,
                              env=environment, capture_output=True, text=True, errors="replace", check=False,
                              timeout=LIMIT)
        truth = questions.truth_of(done.stdout) or (known if question.killed else None)
        if truth is None:
            raise RuntimeError(f"{question.name} under {tool.name} printed no truth: {done.stderr[-500:]}")
        files = [path for path in tool.files(folder) if os.path.isfile(path)]
        answer = Answer(truth, done.returncode, len(files), sum(map(os.path.getsize, files)),
                        tool.screen(question, folder, done.stdout))
        if answer.screen:
            answer.line = screens.names_line(answer.screen, question)
            answer.figure = screens.names_figure(answer.screen, question, truth)
            answer.cause = question.finding != "lines" and answer.screen.cause == question.finding
        return answer
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if group:
            group.remove()
