"""The measuring half of scripts/overhead: run a training script under each tool in turn, print a markdown table.

Each round runs every tool once, every other round in the opposite order; a ratio is to the bare run of its round.
CPU time is that of the program, its children and the tool's own processes, as the kernel counts it for them.
"""
import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
BARE = "bare"


class Tool:
    def __init__(self, name, command, environment=None, output="*", check=None, slow=False):
        self.name = name
        self.command = command  # of (script, folder)
        self.environment = environment or {}
        self.output = output
        self.check = check  # of (folder, files): what was recorded, in words; raises Nothing
        self.slow = slow
        self.rows = []


class Nothing(Exception):
    """A run that was to be traced, and was not."""


class Failed(Exception):
    pass


def memtrace_check(prefix):
    def check(folder, _files):
        done = subprocess.run([os.path.join(prefix, "bin", "memtrace"), "report", os.path.join(folder, "trace"),
                               "--format", "json"], capture_output=True, check=False)
        if done.returncode != 0:
            raise Nothing(f"memtrace report: {done.stderr.decode(errors='replace').strip()}")
        process = max(json.loads(done.stdout)["processes"], key=lambda one: one["trace"]["events"])
        trace = process["trace"]
        tensors = [peak["bytes"] for peak in process["peaks"] if peak["measure"] == "tensor"]
        if trace["events"] < 1000 or not any(tensors):
            raise Nothing(f"{trace['events']} events, tensors {tensors}")
        return f"{trace['events']:,} events, {trace['lost_events']} lost, {trace['coarsened_events']} coarsened"
    return check


def file_check(_folder, files):
    size = sum(os.path.getsize(path) for path in files)
    if size < 100_000:
        raise Nothing(f"{size} bytes in {len(files)} files")
    return f"{len(files)} file, {size:,} bytes"


def tools(prefix, memray):
    python = sys.executable
    library = os.path.join(prefix, "lib", "libmemtrace.so")

    def plain(script, _folder):
        return [python, script]

    def traced(name, **more):
        return Tool(name, plain, {"LD_PRELOAD": library, "MEMTRACE_OUT": "{folder}/trace", "MEMTRACE_QUIET": "1", **more},
                    "trace/*", memtrace_check(prefix), slow=bool(more))

    known = [Tool(BARE, plain), Tool("bare again", plain), traced("memtrace"),
             traced("memtrace, MEMTRACE_EXACT_MIN=1", MEMTRACE_EXACT_MIN="1")]
    if shutil.which("heaptrack"):
        for name, options in (("heaptrack --raw", ["--raw"]), ("heaptrack", [])):
            known.append(Tool(name, lambda script, folder, options=options: [
                "heaptrack", *options, "-o", f"{folder}/heaptrack", python, script],
                output="heaptrack*", check=file_check, slow=True))
    if memray:
        beside = glob.glob(os.path.join(memray, "lib", "python3*", "site-packages"))
        for name, options in (("memray", []), ("memray --native", ["--native"])):
            known.append(Tool(name, lambda script, folder, options=options: [
                python, "-m", "memray", "run", "-q", *options, "-o", f"{folder}/memray.bin", script],
                {"PYTHONPATH": beside[0]}, "memray.bin", file_check, slow=True))
    return known


def run(tool, script, folder):
    """One run: CPU seconds, wall seconds, the highest RSS of one process, bytes written, and what was recorded."""
    os.makedirs(folder)
    kept = {key: value for key, value in os.environ.items()
            if key not in ("LD_PRELOAD", "PYTHONPATH") and not key.startswith("MEMTRACE")}
    environment = {**kept, **{key: value.format(folder=folder) for key, value in tool.environment.items()}}
    log = os.path.join(folder, "output.log")
    with open(log, "wb") as output:
        began = time.monotonic()
        process = subprocess.Popen(tool.command(script, folder), cwd=folder, env=environment,
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        with open(log, encoding="utf-8", errors="replace") as output:
            tail = "".join(output.readlines()[-5:])
        raise Failed(f"{tool.name}: {os.path.basename(script)} ended with {process.returncode}:\n{tail}")
    files = [path for path in glob.glob(os.path.join(folder, tool.output)) if os.path.isfile(path)] if tool.check else []
    row = {"cpu": usage.ru_utime + usage.ru_stime, "wall": wall, "rss": usage.ru_maxrss * 1024,
           "written": sum(os.path.getsize(path) for path in files)}
    row["recorded"] = tool.check(folder, files) if tool.check else ""
    shutil.rmtree(folder)
    return row


def say(text):
    print(f"overhead: {text}", file=sys.stderr, flush=True)


def spread(values, digits):
    middle = f"{statistics.median(values):.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.{digits}f}..{max(values):.{digits}f})"


def table(known):
    print("| under | rounds | CPU s | CPU / bare, median (min..max) | wall / bare | RSS MiB | written MiB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    bare = known[0].rows
    for tool in known:
        if not tool.rows:
            continue
        pairs = list(zip(tool.rows, bare))

        def ratio(key, pairs=pairs):
            return spread([row[key] / base[key] for row, base in pairs], 3)

        def middle(key, rows=tool.rows):
            return statistics.median(row[key] for row in rows)

        ratios = ("1", "1") if tool.name == BARE else (ratio("cpu"), ratio("wall"))
        written = f"{middle('written') / MIB:.1f}" if tool.check else "-"
        print(f"| {tool.name} | {len(tool.rows)} | {middle('cpu'):.2f} | {ratios[0]} | {ratios[1]} | "
              f"{middle('rss') / MIB:.0f} | {written} |")


def measure(script, arguments):
    known = tools(arguments.prefix, arguments.memray)
    name = os.path.basename(script)
    load_before = os.getloadavg()[0]
    # Caches are filled by a run that is not counted.
    run(Tool("a first run, not counted", known[0].command), script, os.path.join(arguments.scratch, "run"))
    for number in range(arguments.rounds):
        order = [tool for tool in known if not tool.slow or number < arguments.slow_rounds]
        for tool in order if number % 2 == 0 else reversed(order):
            shutil.rmtree(os.path.join(arguments.scratch, "run"), ignore_errors=True)
            row = run(tool, script, os.path.join(arguments.scratch, "run"))
            tool.rows.append(row)
            say(f"{name} round {number}: {tool.name}: {row['cpu']:.2f} s CPU, {row['wall']:.2f} s"
                + (f", {row['recorded']}" if row["recorded"] else ""))
    print(f"\n### {name}\n")
    table(known)
    print("\nRecorded in the last run:", "; ".join(f"{tool.name}: {tool.rows[-1]['recorded']}"
                                                   for tool in known if tool.check and tool.rows) + ".")
    print(f"Load average of the machine before and after: {load_before:.1f}, {os.getloadavg()[0]:.1f} "
          f"({os.cpu_count()} cores).", flush=True)


def positive(text):
    if int(text) < 0:
        raise ValueError
    return int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--memray")
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--slow-rounds", type=positive, default=2)
    parser.add_argument("--train", action="append", metavar="SCRIPT")
    arguments = parser.parse_args()
    if arguments.rounds == 0:
        parser.error("--rounds 0 measures nothing")
    scripts = arguments.train or [os.path.join(HERE, "overhead_train.py"), os.path.join(HERE, "demo_train.py")]
    for script in scripts:
        if not os.path.isfile(script):
            parser.error(f"{script} is not there; name a training script with --train")
    try:
        for script in scripts:
            measure(os.path.abspath(script), arguments)
    except Nothing as error:
        say(f"a traced run recorded nothing: {error}; its ratio would be worth nothing either")
        return 1
    except Failed as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
