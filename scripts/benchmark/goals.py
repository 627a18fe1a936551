"""What memtrace's costs are to be at most, beside what scripts/bench has just measured."""
import statistics

from table import MIB, ratios, spread

# what, program, tool, against, key, at most. "rss" is a difference in MiB, "added" what the tool adds to bare's CPU
# time as a part of what the other adds, the others are ratios.
GOALS = (
    ("CPU, small steps, steps alone", "train-small", "memtrace", "bare", "steps_cpu", 1.03),
    ("CPU, small steps, import included", "train-small", "memtrace", "bare", "cpu", 1.05),
    ("CPU, launch-bound steps, steps alone", "train-eager", "memtrace", "bare", "steps_cpu", 1.05),
    ("CPU, large steps, steps alone", "train-large", "memtrace", "bare", "steps_cpu", 1.02),
    ("CPU, loader, steps alone", "loader", "memtrace", "bare", "steps_cpu", 1.02),
    ("CPU, import", "import-torch", "memtrace", "bare", "cpu", 1.03),
    ("RSS, small steps, MiB more", "train-small", "memtrace", "bare", "rss", 24),
    ("RSS, large steps, MiB more", "train-large", "memtrace", "bare", "rss", 24),
    ("CPU, pairs of 1 thread", "pair-1", "memtrace", "bare", "cpu", 1.5),
    ("CPU, pairs of 8 threads", "pair-8", "memtrace", "bare", "cpu", 1.5),
    ("CPU, pairs of 1 thread, 10,000 live blocks", "live-1", "memtrace", "bare", "cpu", 1.5),
    ("CPU, pairs of 8 threads, 10,000 live blocks each", "live-8", "memtrace", "bare", "cpu", 1.5),
    *((f"every block, Python stacks, {what} memray's", program, "memtrace-python", "memray", key, 1)
      for program in ("import-torch", "train-small", "train-eager", "train-large", "loader", "pandas")
      for what, key in (("CPU to", "cpu"), ("CPU added to bare, to", "added"))),
    *((f"every block, native stacks, CPU added to bare, to {other}'s", program, "memtrace-native", other, "added", most)
      for program in ("pair-1", "live-1", "import-torch", "train-small", "train-eager", "train-large", "g++", "redis")
      for other, most in (("heaptrack", 0.5), ("heaptrack-raw", 1))),
)


def figures(result, tool, against, key):
    if key == "added":
        ours, theirs = (dict(zip_rounds(result, name)) for name in (tool, against))
        return [(ours[number] - 1) / (theirs[number] - 1) for number in ours if theirs.get(number, 0) > 1]
    if key == "rss":
        rows, bases = result["rows"].get(tool, {}), result["rows"].get(against, {})
        return [(rows[number][key] - bases[number][key]) / MIB for number in rows if number in bases]
    return ratios(result, tool, key, against)


def zip_rounds(result, name):
    """Rounds and the ratio of CPU time to bare in them."""
    rounds = [number for number in result["rows"].get(name, {}) if number in result["rows"]["bare"]]
    return zip(rounds, ratios(result, name, "cpu"))


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
