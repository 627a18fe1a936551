"""Purpose: of a trace with several stretches, a quick report has the peaks and the phases of the whole one.

usage: check_quick.py GENERATOR MEMTRACE SIZE
"""
import json
import pathlib
import subprocess
import sys
import tempfile


def report(memtrace, trace, *options):
    run = subprocess.run([memtrace, "report", "--format", "json", *options, trace], check=True, capture_output=True)
    return json.loads(run.stdout)["processes"][0]


def peaks_of(process):
    """By memory and measure: the bytes, and what was alive. The lifetime of a block that lives on where nothing is read
    is not the whole one."""
    return {(peak["memory"], peak["measure"]): (peak["bytes"], [
        {key: value for key, value in row.items() if key != "lifetime"} for row in peak["at_peak"]]) for peak in process["peaks"]}


def main():
    generator, memtrace, size = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        trace = pathlib.Path(directory) / "bench.memtrace"
        truth = json.loads(subprocess.run([generator, trace, size], check=True, capture_output=True).stdout)
        full, quick = report(memtrace, trace), report(memtrace, trace, "--quick")
    assert full["trace"]["left_out_events"] == 0, full["trace"]
    assert full["trace"]["events"] == truth["records"], full["trace"]
    left_out = quick["trace"]["left_out_events"]
    assert left_out > truth["records"] // 10, f"{left_out} events left out: this tests nothing"
    assert left_out + quick["trace"]["events"] == truth["records"], quick["trace"]
    assert quick["trace"]["lost_events"] == quick["trace"]["damaged_bytes"] == 0, quick["trace"]
    assert quick["trace"]["unknown_deaths"] == 0, quick["trace"]
    for key in ("live", "tensor"):
        found, alive = peaks_of(quick)[("host", key)]
        assert found == truth[key], f"{key}: the generator knows {truth[key]}, the report says {found}"
        assert alive == peaks_of(full)[("host", key)][1], key
    phases = [{(row["phase"], row["step"]) for row in one["phases"] if row["memory"] == "host"} for one in (full, quick)]
    assert phases[0] == phases[1], phases[0] ^ phases[1]
    assert quick["trace"]["buckets"]["count"] > 1, quick["trace"]["buckets"]


if __name__ == "__main__":
    main()
