"""Purpose: what commands print, in the pages that show it.

A screen stands in one page, as a block of code behind the line `<!-- scripts/pictures: NAME -->`.
"""
import re

import training

QUERY = "SELECT own_line, allocated_by, role, bytes FROM peak_by_line LIMIT 5"


def report(run):
    """The report to the end of its table of phases."""
    text = run.memtrace("report")
    return text[:text.index("\n", text.index("  typical: ")) + 1]


def tree(run):
    return run.memtrace("tree", "--min-size", "8%")


def folded(run):
    first = run.memtrace("export", "--to", "folded").split("\n", 1)[0]
    return "\n".join(first.split(";")[:6]) + "\n"


def sqlite(run):
    return run.run("sqlite3", "-box", run.export("sqlite", "run.db"), QUERY)


def torch_stats(run):
    path = run.export("torch-snapshot", "peak.pickle")
    text = run.run(training.PYTHON, "-m", "torch.cuda._memory_viz", "stats", path)
    return text[:text.index("\nLegend")]


def block(name):
    return re.compile(rf"(<!-- scripts/pictures: {name} -->\n```\n)(.*?)(?=```\n)", re.S)


def pages():
    return [training.ROOT / "README.md", *sorted((training.ROOT / "docs").glob("*.md"))]


def shown(name):
    """Returns the screen that the pages show now."""
    found = [block(name).search(page.read_text(encoding="utf-8")) for page in pages()]
    one, = [match[2] for match in found if match]
    return one


def renew(name, text):
    """Writes a screen to its page."""
    for page in pages():
        before = page.read_text(encoding="utf-8")
        after = block(name).sub(lambda match: match[1] + text, before)
        if after != before:
            page.write_text(after, encoding="utf-8")
