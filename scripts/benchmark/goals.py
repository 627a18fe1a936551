"""What memtrace's costs are to be at most, beside what scripts/bench has just measured."""
import statistics

from table import MIB, ratios, spread

# what, program, tool, against, key, at most; "rss" is a difference in MiB, the others are ratios
GOALS = (
    ("CPU, small steps, steps alone", "train-small", "memtrace", "bare", "steps_cpu", 1.03),
    ("CPU, small steps, import included", "train-small", "memtrace", "bare", "cpu", 1.05),
    ("RSS, small steps, MiB more", "train-small", "memtrace", "bare", "rss", 24),
    ("RSS, large steps, MiB more", "train-large", "memtrace", "bare", "rss", 24),
    ("CPU, pairs of 1 thread", "pair-1", "memtrace", "bare", "cpu", 1.5),
    ("CPU, pairs of 8 threads", "pair-8", "memtrace", "bare", "cpu", 1.5),
    ("CPU, pairs of 1 thread, 10,000 live blocks", "live-1", "memtrace", "bare", "cpu", 1.5),
    ("CPU, pairs of 8 threads, 10,000 live blocks each", "live-8", "memtrace", "bare", "cpu", 1.5),
    ("CPU, every block, Python stacks, of memray's", "train-small", "memtrace-python", "memray", "cpu", 1),
    ("CPU, every block, Python stacks, of memray's", "train-large", "memtrace-python", "memray", "cpu", 1),
    ("CPU, every block, Python stacks, of memray's", "import-torch", "memtrace-python", "memray", "cpu", 1),
    ("CPU, every block, native stacks, of heaptrack's", "train-small", "memtrace-native", "heaptrack", "cpu", 0.5),
    ("CPU, every block, native stacks, of heaptrack's", "train-large", "memtrace-native", "heaptrack", "cpu", 0.5),
    ("CPU, every block, native stacks, of heaptrack's", "pair-1", "memtrace-native", "heaptrack", "cpu", 0.5),
    ("CPU, every block, native stacks, of heaptrack --raw's", "train-small", "memtrace-native", "heaptrack-raw", "cpu",
     0.5),
)


def figures(result, tool, against, key):
    if key != "rss":
        return ratios(result, tool, key, against)
    rows, bases = result["rows"].get(tool, {}), result["rows"].get(against, {})
    return [(rows[number][key] - bases[number][key]) / MIB for number in rows if number in bases]


def table(measured):
    """Of results by program. Empty when nothing that has a goal was measured."""
    lines = []
    for what, program, tool, against, key, most in GOALS:
        values = figures(measured[program], tool, against, key) if program in measured else []
        if not values:
            continue
        noise = figures(measured[program], "again", "bare", key) if against == "bare" else []
        kept = "yes" if statistics.median(values) <= most else "no"
        digits = 1 if key == "rss" else 3
        lines.append(f"| {what} (`{program}`) | {most} | {spread(values, digits)} | "
                     f"{spread(noise, digits) if noise else '-'} | {kept} |")
    if not lines:
        return ""
    return "\n".join(["\n## Goals\n", "| what | at most | measured | bare again | kept |",
                      "| --- | ---: | ---: | ---: | --- |", *lines])
