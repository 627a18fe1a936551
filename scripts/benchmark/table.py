"""Rows of scripts/bench into markdown: medians, their spread, and ratios to the bare run of the same round."""
import math
import re
import statistics

MIB = 1 << 20
BARE = "bare"


class Unmarked(Exception):
    """A file that was to be renewed lacks the place for a table."""


def ranks(count):
    """The ranks, from 0, between which the true median lies with at least 95 %; None for too few values."""
    for low in range(count // 2 - 1, -1, -1):
        outside = 2 * sum(math.comb(count, k) for k in range(low + 1)) / 2**count
        if outside <= 0.05:
            return low, count - 1 - low
    return None


def spread(values, digits=3):
    ordered = sorted(values)
    middle = f"{statistics.median(ordered):.{digits}f}"
    if len(ordered) == 1:
        return middle
    text = f"{middle} ({ordered[0]:.{digits}f}..{ordered[-1]:.{digits}f}"
    inner = ranks(len(ordered))
    return text + (f"; 95 %: {ordered[inner[0]]:.{digits}f}..{ordered[inner[1]]:.{digits}f})" if inner else ")")


def ratios(result, name, key, to=BARE):
    """Of one tool to another, for the same work, in the rounds that both have."""
    rows, bases = result["rows"].get(name, {}), result["rows"].get(to, {})

    def each(row):
        return row[key] if key == "steps_cpu" else row[key] / row["work"]
    return [each(rows[number]) / each(bases[number]) for number in rows
            if number in bases and key in rows[number] and key in bases[number]]


def middle(result, name, key):
    return statistics.median(row[key] for row in result["rows"][name].values())


def recorded(rows):
    """What the last run recorded, and how much of it each second."""
    last = rows[max(rows)]
    if "recorded" not in last:
        return "-", "-"
    counts = last["recorded"]
    words = [f"{counts[key]:,} {label}" for key, label in
             (("allocations", "a"), ("records", "r"), ("lost", "lost"), ("coarsened", "coarsened"))
             if counts[key] is not None and (counts[key] or key in ("allocations", "records"))]
    most = max(counts["allocations"] or 0, counts["records"] or 0)
    return ", ".join(words), f"{most / last['wall']:,.0f}"


def line(result, name, with_steps):
    title, rows = result["titles"][name], result["rows"][name]
    if not rows:
        return f"| {title} | 0 | failed: {brief(result['failed'].get(name, 'left out'))} |" + " |" * (6 + with_steps)
    bare = name == BARE
    cells = [title, str(len(rows)), f"{middle(result, name, 'cpu'):.2f}",
             "1" if bare else spread(ratios(result, name, "cpu"))]
    if with_steps:
        steps = ratios(result, name, "steps_cpu")
        cells.append("1" if bare else spread(steps) if steps else "-")
    more = (middle(result, name, "rss") - middle(result, BARE, "rss")) / MIB
    written = middle(result, name, "written") / MIB
    cells += ["1" if bare else spread(ratios(result, name, "wall")),
              f"{middle(result, name, 'rss') / MIB:.1f}" + ("" if bare else f" ({more:+.1f})"),
              f"{written:.2f}" if written else "-", *recorded(rows)]
    return f"| {' | '.join(cells)} |"


def brief(text):
    return re.sub(r"\s+", " ", text).replace("|", "/")[:120]


def of(result):
    """The table of one program."""
    with_steps = any("steps_cpu" in row for row in result["rows"][BARE].values())
    steps = ("steps alone, CPU / bare |", " ---: |") if with_steps else ("", "")
    lines = [f"\n#### {result['title']}: `{result['program']}`\n",
             f"| under | rounds | CPU s | CPU / bare | {steps[0]} wall / bare | RSS MiB | written MiB | recorded |"
             " recorded / s |".replace("  ", " "),
             f"| --- | ---: | ---: | ---: |{steps[1]} ---: | ---: | ---: | ---: | ---: |"]
    lines += [line(result, name, with_steps) for name in result["rows"]]
    if with_steps:
        cost = statistics.median(row["steps_cpu"] for row in result["rows"][BARE].values())
        lines.append(f"\nA step takes {cost * 1000:.1f} ms of CPU, bare.")
    lines.append("\nLoad average before and after: {:.1f}, {:.1f}.".format(*result["load"]))
    lines += [f"\n{name} failed: {brief(why)}" for name, why in result["failed"].items()]
    return "\n".join(lines)


def renew(path, sections):
    """Puts each table between its marks: <!-- bench NAME --> and the next <!-- end -->."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, section in sections.items():
        start, end = f"<!-- bench {name} -->", "<!-- end -->"
        before, found, rest = text.partition(start)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise Unmarked(f"{path} has no place for '{name}', which would be between {start} and {end}")
        text = f"{before}{start}\n{section.strip()}\n{end}{after}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
