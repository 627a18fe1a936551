"""Purpose: writes files of fleets and runs queries on them for tests, all in one process: to start Python and its packages
takes most of the CPU time of a command.

usage: fleet_answers.py < REQUESTS

Each line of REQUESTS is an array, and it prints a line for each:

["write", DIRECTORY, STREAM]        the exit status
["ask", QUERY, DIRECTORIES, JOBS]   {"rows": ...} or {"error": ...}
["print", WORDS]                    what `memtrace fleet WORDS` writes to stdout and stderr, and the exit status
["run", FOLDER, CODE]               what the code stores in `out`
"""
import contextlib
import io
import json
import os
import sys

from memtrace import fleet
from memtrace.fleet import parquet_files, start


def write(directory, stream):
    """As `memtrace export` starts the writer: the stream is stdin, and the first line of stdout is for the command."""
    kept = os.dup(0), os.dup(1)
    source, nowhere = os.open(stream, os.O_RDONLY), os.open(os.devnull, os.O_WRONLY)
    os.dup2(source, 0)
    os.dup2(nowhere, 1)
    try:
        return parquet_files.main([directory])
    finally:
        for number, at in enumerate(kept):
            os.dup2(at, number)
        for at in (*kept, source, nowhere):
            os.close(at)


def ask(query, directories, jobs):
    try:
        return {"rows": fleet.query(query, *directories, jobs=jobs).rows()}
    except fleet.QueryError as error:
        return {"error": str(error)}


def print_as_command(words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = start.main(words)
    return out.getvalue(), err.getvalue(), status


def run(folder, code):
    os.chdir(folder)
    names = {}
    exec(compile(code, "code", "exec"), names)  # pylint: disable=exec-used
    return names["out"]


def main():
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    for line in iter(requests.readline, ""):
        kind, *words = json.loads(line)
        answer = {"write": write, "ask": ask, "print": print_as_command, "run": run}[kind](*words)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    sys.exit(main())
