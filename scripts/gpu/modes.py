"""The jobs of run.py with each setting of MEMTRACE_CUPTI: how far the report is from PyTorch's counters, and what it says
about GPUs with one setting alone.

usage: modes.py PREFIX OUT [SECONDS [JOB...]]   with the Python that has PyTorch
Prints a table and writes OUT/modes.json. A job in that file is not run again, so that several short runs do all. Exit 0:
no figure differs from PyTorch's, with no setting; 1: some do, or a job failed.
"""
import json
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import run

MODES = ("off", "auto", "on")
CODE = {"FAKE_CUDA_CODE_MIB": "200"}  # on the CUDA node: kernels have code, which takes memory of the GPU
BY_DESIGN = ("CUPTI is the source", "the hooks are the source")  # one of them is wrong with each setting


def seen(report):
    """What a report says about GPUs, as numbers by name: levels, blocks at the peaks, flows, code, findings."""
    facts = Counter()
    for process in report["processes"] if report else []:
        for entry in process.get("peaks", []):
            if entry["memory"] != "host":
                facts[f"{entry['memory']} {entry['measure']}"] += entry["bytes"]
                for row in entry["at_peak"]:
                    facts[f"{entry['memory']} {entry['measure']}: {row['kind']}"] += row["bytes"]
                    facts[f"{entry['memory']} {entry['measure']}: blocks"] += row["blocks"]
        for row in process.get("phases", []):
            if row["memory"] != "host":
                for flow in ("allocated", "freed"):
                    facts[f"{row['memory']} {flow}"] += row[flow]
        for entry in process.get("ledger", []):
            if entry["memory"] != "host":
                facts[f"{entry['memory']} code"] += (entry.get("residual_parts") or {}).get("code") or 0
        for finding in process["findings"]:
            facts[f"finding {finding['id']}"] += 1
    return dict(facts)


def judged(job, made):
    """Of the checks: how many compare a figure, those that differ, and others that do not hold."""
    rows = [row for row in job.check(made) if row.ok is not None and row.check not in BY_DESIGN]
    figures = [row for row in rows if isinstance(row.truth, int) and isinstance(row.found, int) and
               (row.verdict == "equal" or row.verdict.startswith("DIFFERS by"))]
    wrong = [row for row in rows if not row.ok]
    return {"figures": len(figures), "differ": [[row.check, row.truth, row.found] for row in wrong if row in figures],
            "others": [[row.check, row.truth, row.found] for row in wrong if row not in figures],
            "seen": seen(made.report or made.postmortem)}


def in_each_mode(runner, job):
    result = {"job": job.name}
    for mode in MODES:
        one = replace(job, environment={**job.environment, **CODE, "MEMTRACE_CUPTI": mode})
        folder = runner.folder(run.JOBS.index(job), job) + "-" + mode
        try:
            result[mode] = judged(one, runner.run(one, folder))
        except run.ERRORS as error:
            return {"job": job.name, "failed": f"{mode}: {error!r}"[:200]}
    return result


def alone(result):
    """Each fact that the settings do not agree on, as NAME OFF/AUTO/ON."""
    names = dict.fromkeys(name for mode in MODES for name in result[mode]["seen"])
    values = {name: [result[mode]["seen"].get(name, 0) for mode in MODES] for name in names}
    return [f"{name} {'/'.join(f'{value:,}' for value in of)}" for name, of in values.items() if len(set(of)) > 1]


def line(result):
    if "failed" in result:
        return f"| {result['job']} | | FAILED: {result['failed']} | | | |"
    cells = [", ".join(f"{check}: {found - truth:+,}" for check, truth, found in result[mode]["differ"]) or "0" for mode in MODES]
    others = [f"{mode}: {check}" for mode in MODES for check, _, _ in result[mode]["others"]]
    return f"| {result['job']} | {result['on']['figures']} | {' | '.join(cells)} | {'; '.join(others + alone(result))} |"


def known(path):
    try:
        with open(path, encoding="utf-8") as file:
            return {result["job"]: result for result in json.load(file) if "failed" not in result}
    except (OSError, ValueError):
        return {}


def main():
    prefix, out = (os.path.abspath(path) for path in sys.argv[1:3])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else run.BUDGET
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, "modes.json")
    results = known(path)
    runner = run.Runner(prefix, out, seconds)
    jobs = [job for job in run.JOBS if not job.rounds and not job.name.endswith(", by CUPTI") and job.name not in results
            and (len(sys.argv) < 5 or job.name in sys.argv[4:])]
    for single, at_once in ((False, run.AT_ONCE), (True, 1)):
        with ThreadPoolExecutor(at_once) as pool:
            for result in pool.map(lambda job: in_each_mode(runner, job), [job for job in jobs if job.alone == single]):
                results[result["job"]] = result
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(list(results.values()), file, indent=1)
    ordered = [results[job.name] for job in run.JOBS if job.name in results]
    print("| scenario | figures | off | auto | on | other |\n| --- | --- | --- | --- | --- | --- |")
    for result in ordered:
        print(line(result))
    return 1 if any("failed" in result or any(result[mode]["differ"] for mode in MODES) for result in ordered) else 0


if __name__ == "__main__":
    sys.exit(main())
