"""Purpose: the report of a generated trace says what its generator knows: events, steps and both peaks.

usage: check.py GENERATOR MEMTRACE SIZE
"""
import json
import pathlib
import subprocess
import sys
import tempfile


def main():
    generator, memtrace, size = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        trace = pathlib.Path(directory) / "bench.memtrace"
        truth = json.loads(subprocess.run([generator, trace, size], check=True, capture_output=True).stdout)
        run = subprocess.run([memtrace, "report", "--format", "json", trace], check=True, capture_output=True)
    process = json.loads(run.stdout)["processes"][0]
    peaks = {peak["measure"]: peak["bytes"] for peak in process["peaks"] if peak["memory"] == "host"}
    found = {"bytes": process["trace"]["bytes"], "records": process["trace"]["events"],
             "steps": 1 + max(row["step"] for row in process["phases"] if isinstance(row["step"], int)),
             "live": peaks["live"], "tensor": peaks["tensor"]}
    assert found == truth, f"the generator knows {truth}, the report says {found}"
    assert process["trace"]["lost_events"] == 0, process["trace"]
    assert run.stderr == b"", f"a word where there is no terminal: {run.stderr}"


if __name__ == "__main__":
    main()
