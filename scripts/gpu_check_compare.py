"""The second half of scripts/gpu_check: a report of memtrace against what PyTorch's counters read, as a table.

usage: gpu_check_compare.py --report FILE --truth FILE [--bare FILE]
--report: memtrace report --format json --all-steps; --truth: output of gpu_check_train.py --phases in the run that was
traced; --bare: its output without memtrace. Exit 0: all agree; 1: something differs; 2: an input cannot be read.
"""
import argparse
import json
import sys

MEMORY = "cuda:0"


class Unreadable(Exception):
    pass


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error


def read_report(path):
    try:
        report = json.loads(read_text(path))
    except ValueError as error:
        raise Unreadable(f"{path}: not JSON ({error}); make it with: memtrace report --format json --all-steps") from error
    schema = report.get("schema") if isinstance(report, dict) else None
    if schema != "memtrace.report/1":
        raise Unreadable(f"{path}: the schema is {schema!r}, expected 'memtrace.report/1'")
    return report


def read_truth_line(path):
    """The last line that is a JSON object: what comes before it is the program's own output."""
    for line in reversed(read_text(path).splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError as error:
                raise Unreadable(f"{path}: its last line is not JSON ({error})") from error
    raise Unreadable(f"{path}: no line of JSON; the training run says its counters in its last line")


def read_truth(path):
    truth = read_truth_line(path)
    missing = [key for key in ("pid", "max_memory_allocated", "max_memory_reserved") if key not in truth]
    if missing:
        raise Unreadable(f"{path}: no {', '.join(missing)} in its last line; it comes from gpu_check_train.py")
    return truth


def find_process(report, pid):
    for process in report.get("processes", []):
        if process.get("pid") == pid:
            return process
    known = ", ".join(str(process.get("pid")) for process in report.get("processes", [])) or "none"
    raise Unreadable(f"the report has no process {pid}, which was traced; it has: {known}")


def peak(process, measure, memory=MEMORY):
    levels = [entry["bytes"] for entry in process.get("peaks", [])
              if entry["memory"] == memory and entry["measure"] == measure]
    return max(levels) if levels else None


LIBRARIES = ("libcublas", "libcudnn", "libcusolver", "libcusparse", "libcufft", "libnccl")
PASS_ON = ("libmemtrace", "libcudart", "libcuda.", "libcupti")


def asked_by(row, library):
    """True if that library called the runtime or driver. cuBLAS takes memory for itself in calls of PyTorch."""
    for frame in (row.get("site") or {}).get("frames", []):
        name = frame.get("module", "").rpartition("/")[2]
        if name and not name.startswith(PASS_ON):
            return library in frame["module"]
    return False


def live_of_allocator(process):
    """What the caching allocator held when most was alive."""
    for entry in process.get("peaks", []):
        if entry["memory"] == MEMORY and entry["measure"] == "live":
            rows = entry.get("at_peak", [])
            others = sum(row["bytes"] for row in rows if any(asked_by(row, library) for library in LIBRARIES))
            return entry["bytes"] - others
    return None


def tensor_level(process, phase, step, key):
    rows = [row for row in process.get("phases", [])
            if row["memory"] == MEMORY and row["path"] == [phase] and row["step"] == step]
    return rows[0].get("tensor", {}).get(key) if len(rows) == 1 else None


def verdict(truth, found):
    if found is None:
        return False, "DIFFERS: not in the report"
    if truth == found:
        return True, "equal"
    return False, f"DIFFERS by {found - truth:+,}"


def compare(report, truth, bare=None):
    """Rows of (check, truth, memtrace, ok, verdict)."""
    process = find_process(report, truth["pid"])
    rows = []

    def add(check, expected, found):
        rows.append((check, expected, found, *verdict(expected, found)))

    add("peak tensor = max_memory_allocated", truth["max_memory_allocated"], peak(process, "tensor"))
    add("peak live of the allocator = max_memory_reserved", truth["max_memory_reserved"],
        live_of_allocator(process))
    add("peak reserved = max_memory_reserved", truth["max_memory_reserved"], peak(process, "reserved"))
    for row in truth.get("phases", []):
        name = f"{row['phase']} {row['step']}"
        add(f"{name}: peak tensor", row["peak"], tensor_level(process, row["phase"], row["step"], "peak_live"))
        if "exit" in row:
            add(f"{name}: tensor at exit", row["exit"], tensor_level(process, row["phase"], row["step"], "exit_live"))
    if "parameters" in truth:
        add("parameters", truth["parameters"], (process.get("parameters") or {}).get("count"))
    add("events lost", 0, process.get("trace", {}).get("lost_events"))
    if bare is not None:
        # Here the truth is the run without memtrace, and beside it PyTorch's counter in the traced run.
        for key in ("max_memory_allocated", "max_memory_reserved"):
            add(f"{key}: bare, and traced", bare[key], truth[key])
    return rows


def show(number):
    return "-" if number is None else f"{number:,}"


def print_table(rows):
    table = [("check", "truth", "memtrace", "verdict")]
    table += [(check, show(expected), show(found), text) for check, expected, found, _, text in rows]
    widths = [max(len(line[column]) for line in table) for column in range(3)]
    for check, expected, found, text in table:
        print(f"{check:<{widths[0]}}  {expected:>{widths[1]}}  {found:>{widths[2]}}  {text}")


def explain(rows):
    """What a difference between live and reserved may be, since two things look the same there."""
    by_check = {check: (expected, found) for check, expected, found, _, _ in rows}
    expected, found = by_check["peak live of the allocator = max_memory_reserved"]
    if found == 0 and expected:
        print("live: no cudaMalloc was seen at all; if memtrace took this for a machine without CUDA (there is no "
              "/dev/nvidiactl),\n  the same with MEMTRACE_CUPTI=on in the environment tells")
    elif found is not None and found > expected:
        print("live: more than the caching allocator holds; a library that calls cudaMalloc itself, or a missed cudaFree")
    elif found is not None and found < expected:
        print("live: a part of the segments came by another way than cudaMalloc")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--report", required=True, metavar="FILE")
    parser.add_argument("--truth", required=True, metavar="FILE")
    parser.add_argument("--bare", metavar="FILE")
    arguments = parser.parse_args()
    try:
        truth = read_truth(arguments.truth)
        bare = read_truth(arguments.bare) if arguments.bare else None
        report = read_report(arguments.report)
        rows = compare(report, truth, bare)
        source = find_process(report, truth["pid"]).get("trace", {}).get("device_source")
    except Unreadable as error:
        print(f"gpu_check: {error}", file=sys.stderr)
        return 2
    known = [f"{key} {truth[key]}" for key in ("device", "torch", "python") if key in truth]
    print(", ".join([*known, f"device memory seen by {source or 'nothing'}"]))
    print_table(rows)
    explain(rows)
    wrong = sum(not ok for _, _, _, ok, _ in rows)
    print(f"{len(rows) - wrong} of {len(rows)} agree, to the byte" if wrong == 0 else
          f"{wrong} of {len(rows)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
