"""The measuring half of scripts/bench: run each program under each tool in turn, in rounds, and print the tables.

Each round runs every tool once, every other round in the opposite order; a ratio is to the bare run of its round.
CPU time is that of the program, its children and the tool's own processes, as the kernel counts it for them.
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import callgrind
import goals
import machine
import programs
import table
import tools

BARE = "bare"
SLOW_ROUNDS = 3
PATIENCE = (300, 10)  # seconds, and times the bare run's: then a tool is said to hang
SLOW_SHARE = 5  # a tool that records every block does a fifth of the pairs; ratios are for the same work
INSTRUCTIONS = "instructions"  # the name of callgrind's part, beside those of the programs


class Failed(Exception):
    pass


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def tail(path, lines=5):
    with open(path, encoding="utf-8", errors="replace") as file:
        return "".join(file.readlines()[-lines:]).strip()


def bare_environment():
    """Settings that happen to be here are not to be measured."""
    kept = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "PYTHONPATH", "HEAPPROFILE")
            and not key.startswith(("MEMTRACE", "HEAP_PROFILE"))}
    return {**kept, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


def execute(tool, program, place, limit):
    """Runs it; the row that launch wrote, and what the program printed."""
    log, result = os.path.join(place.folder, "output.log"), os.path.join(place.folder, "usage.json")
    settings = [f"{key}={value}" for key, value in tool.environment(program, place.folder).items()]
    command = tool.command(program.command(place), program, place.folder)
    # The program's own output goes nowhere near a terminal; xz writes megabytes of it.
    with open(log, "wb") as output:
        with subprocess.Popen([place.input("launch"), result, *settings, *command], cwd=place.folder,
                              env=bare_environment(), stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.STDOUT, start_new_session=True) as process:
            try:
                if program.driver:
                    program.driver(place, lambda: process.poll() is None)
                process.wait(limit)
            except BaseException as error:
                os.killpg(process.pid, signal.SIGKILL)
                if isinstance(error, subprocess.TimeoutExpired):
                    raise Failed(f"not done after {limit:.0f} s") from None
                raise
    if process.returncode != 0:
        raise Failed(f"the launcher ended with {process.returncode}: {tail(log)}")
    with open(result, encoding="ascii") as file:
        row = json.load(file)
    if row.pop("status") != 0:
        raise Failed(f"ended badly: {tail(log)}")
    with open(log, encoding="utf-8", errors="replace") as file:
        return row, file.read()


def said(output):
    """What the program says of itself: its allocations, the CPU time of its steps."""
    return {key: float(value) for line in re.findall(r"^bench: (.*)$", output, re.M)
            for key, value in re.findall(r"(\w+)=([\d.]+)", line)}


def measure(tool, program, place, limit=None):
    """One run: what it took, the bytes written, and what was recorded, checked. At most so many seconds."""
    shutil.rmtree(place.folder, ignore_errors=True)
    os.makedirs(place.folder)
    place.share = SLOW_SHARE if tool.slow else 1
    try:
        row, output = execute(tool, program, place, limit)
        own = said(output)
        row["work"] = own.get("allocations", 1)
        files = tool.files(place.folder)
        row["written"] = sum(os.path.getsize(path) for path in files if os.path.isfile(path))
        recorded = tool.recorded(program, place.folder, files, output)
        if recorded is not None:
            tools.check(program, recorded, int(own["allocations"]) if "allocations" in own else None)
            row["recorded"] = vars(recorded)
        if "steps_cpu" in own and tool.in_process:
            row["steps_cpu"] = own["steps_cpu"] / own["steps"]
        return row
    finally:
        shutil.rmtree(place.folder, ignore_errors=True)


def order_of(known, number, slow_rounds, failed):
    chosen = [tool for tool in known if tool.name not in failed and (not tool.slow or number < slow_rounds)
              and (tool.at_most is None or number < tool.at_most)]
    return chosen if number % 2 == 0 else chosen[::-1]


def bench(program, known, place, rounds, slow_rounds):
    """All rounds of one program: rows by tool and round, and why tools failed."""
    program.prepare(place)
    known = [tool for tool in known if tool.fits(program)]
    failed, load = {}, os.getloadavg()[0]
    # Caches are filled by a run that is not counted.
    limit = PATIENCE[0] + PATIENCE[1] * measure(tools.Tool(), program, place)["wall"]
    rows = {tool.name: {} for tool in known}
    for number in range(rounds):
        for tool in order_of(known, number, slow_rounds, failed):
            try:
                row = measure(tool, program, place, limit)
            except (Failed, tools.Nothing) as error:
                if tool.name == BARE:
                    raise
                failed[tool.name] = str(error)
                say(f"{program.name}: {tool.name}: {error}")
                continue
            rows[tool.name][number] = row
            words = tools.Recorded(**row["recorded"]).words() if "recorded" in row else ""
            say(f"{program.name} round {number}: {tool.name}: {row['cpu']:.2f} s CPU, {row['wall']:.2f} s"
                + (f"; {words}" if words else ""))
    return {"program": program.name, "title": program.title, "rows": rows, "failed": failed,
            "titles": {tool.name: tool.title for tool in known}, "load": [load, os.getloadavg()[0]]}


def compile_helpers(shared):
    for name in ("launch", "pair"):
        source = os.path.join(programs.HERE, f"{name}.c")
        done = subprocess.run(["cc", "-O2", "-pthread", "-o", os.path.join(shared, name), source],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"cannot compile {source}: {done.stderr}")


def load(path):
    """Results by program, as an earlier run left them."""
    if not path or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        kept = json.load(file)
    for result in kept:
        result["rows"] = {name: {int(number): row for number, row in rows.items()}
                          for name, rows in result["rows"].items()}
    return {result["program"]: result for result in kept}


def save(path, results):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(list(results.values()), file, indent=1)


def several(text):
    return [name for name in text.split(",") if name]


def positive(text):
    if int(text) < 1:
        raise ValueError
    return int(text)


def arguments_of(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--library", required=True)
    parser.add_argument("--command", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--memray")
    parser.add_argument("--program", type=several, default=[])
    parser.add_argument("--tool", type=several, default=[])
    parser.add_argument("--rounds", type=positive)
    parser.add_argument("--slow-rounds", type=positive, default=SLOW_ROUNDS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--write")
    return parser, parser.parse_args(argv)


def choose(parser, option, names, known):
    for name in names:
        if name not in known:
            parser.error(f"{option} {name}: there is no such; there are {', '.join(known)}")
    return [name for name in known if not names or name in names]


def left_out(things):
    """Those that can run here; a line about each that cannot."""
    there = []
    for thing in things:
        why = thing.missing()
        if why:
            say(f"{thing.name} is left out: {why}")
        else:
            there.append(thing)
    return there


def run_programs(chosen, known, place, arguments, results):
    """Benchmarks the programs that can run here. True if memtrace failed on one of them."""
    wrong = False
    for program in left_out(chosen):
        result = bench(program, known, place, arguments.rounds or program.rounds, arguments.slow_rounds)
        results[program.name] = result
        if arguments.json:
            save(arguments.json, results)
        wrong = wrong or any(name.startswith("memtrace") for name in result["failed"])
        print(table.of(result), flush=True)
    return wrong


def count_instructions(place, known):
    """The table of instructions; None if callgrind is missing."""
    why = callgrind.missing()
    if why:
        say(f"{INSTRUCTIONS} are left out: {why}")
        return None
    place.share = 1
    text = callgrind.table(place, [tool for tool in known if tool.name in callgrind.TOOLS])
    print(text, flush=True)
    return text


def main():
    parser, arguments = arguments_of(sys.argv[1:])
    all_programs = {program.name: program for program in programs.known()}
    all_tools = {tool.name: tool for tool in tools.known(arguments.library, arguments.command, arguments.memray)}
    chosen = choose(parser, "--program", arguments.program, [*all_programs, INSTRUCTIONS])
    names = choose(parser, "--tool", arguments.tool, list(all_tools))
    if arguments.list:
        print("programs:", *all_programs, INSTRUCTIONS)
        print("tools:", *all_tools)
        return 0
    known = left_out(all_tools[name] for name in all_tools if name == BARE or name in names)
    place = programs.Place(os.path.join(arguments.scratch, "run"), os.path.join(arguments.scratch, "shared"),
                           arguments.quick)
    os.makedirs(place.shared)
    compile_helpers(place.shared)
    results, sections = load(arguments.json), {}
    wrong = run_programs((all_programs[name] for name in chosen if name != INSTRUCTIONS), known, place, arguments,
                         results)
    if INSTRUCTIONS in chosen:
        sections[INSTRUCTIONS] = count_instructions(place, known)
    sections["goals"] = goals.table(results)
    sections["machine"] = machine.words(known)
    print(sections["goals"], sections["machine"], sep="\n\n")
    if arguments.write:
        sections.update((name, table.of(result)) for name, result in results.items())
        table.renew(arguments.write, {name: text for name, text in sections.items() if text})
    return 1 if wrong else 0


if __name__ == "__main__":
    # So that the program which runs is ended too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        sys.exit(main())
    except (Failed, tools.Nothing, table.Unmarked) as failure:
        say(str(failure))
        sys.exit(1)
