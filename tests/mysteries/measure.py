#!/usr/bin/env python3
"""Purpose: runs the corpus, and compares the first screen of memtrace with the first answers of memray and PyTorch.

usage: measure.py [--no-peers] [NAME...]     these programs; without a name: all
       measure.py --peers [NAME...]          asks the other tools alone; the other cells stay
       measure.py --page                     writes docs/mysteries.md from the newest row of each program
Prints a row for each program, and stores it in BUILD_DIR/mysteries.json. A program without a row there keeps its row of
docs/mysteries.md. memray: scripts/bench --setup.
"""
import json
import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "end_to_end", "support")]

import harness  # noqa: E402
import mystery  # noqa: E402
import peers  # noqa: E402
from corpus_case import CorpusCase, remove_shared_files  # noqa: E402
from known_wrong import KNOWN_WRONG, TWINS_WITH_A_FINDING, VARIES  # noqa: E402

ROWS = os.path.join(harness.BUILD, "mysteries.json")
PAGE = os.path.join(ROOT, "docs", "mysteries.md")
HEAD = """# Public mysteries

Each row is a program of [tests/mysteries](../tests/mysteries/README.md): it repeats the memory use of a public thread in
which people could not explain it. `tests/mysteries/measure.py` runs all, and
`tests/mysteries/measure.py --page` writes this page.

- **memtrace**: right if the first 24 lines of the report, or of the post-mortem of a killed process, lead with the cause,
  name a line that holds it, and have its figure within 3 %. The program knows the figure by its shapes and sizes, or asks
  the kernel or the allocator.
- **twin**: the same program, mended as the thread says: it must get no finding.
- **memray**: the frame that holds the most at the highest point, which its flame graph and table show first. It records
  the host's memory of one process: of a program with ranks, the cell is of the rank with most.
- **PyTorch**: the first row of the table of `torch.profiler`, sorted by memory of the operator itself: the GPU's where the
  program uses one. The table is printed at the end, so a program that is killed has none.

Programs that need a GPU run on the [CUDA node](cuda-node.md), under each tool.

{right} of {all} are right, and {clean} of {twins} twins get no finding.

"""


def asked_of_peers(case):
    """Returns the last two cells of the program's row."""
    runner = CorpusCase("run_program")
    runner.setUp()
    try:
        out = []
        for ask in (peers.memray, peers.pytorch):
            enter = runner.group(case.limit).enter if case.limit else None
            out.append(ask(case, enter))
            remove_shared_files(case.name)
        return out
    finally:
        runner.doCleanups()


def measured(case):
    """Returns the cells of the program's row, without those of the other tools."""
    runner = CorpusCase("run_program")
    runner.setUp()
    try:
        try:
            verdict, truth, _ = runner.judged(case)
            size = f"{truth / (1 << 20):.2f} MiB" if truth else "?"
            answer = "right" if verdict.right else "wrong: " + verdict.wrong_parts()
        except unittest.SkipTest as why:
            size, answer = "?", f"not run: {why}"
        except AssertionError as why:
            size, answer = "?", "wrong: " + " ".join(str(why).split())[:120]
        if answer.startswith("wrong") and case.name in KNOWN_WRONG:
            answer += f" ({KNOWN_WRONG[case.name]})"
        if case.name in VARIES:
            answer += f" (varies: {VARIES[case.name]})"
        try:
            found = runner.found_in_twin(case)
            twin = "clean" if not found else "got " + ", ".join(found)
            if found and case.name in TWINS_WITH_A_FINDING:
                twin += f" ({TWINS_WITH_A_FINDING[case.name]})"
        except (unittest.SkipTest, AssertionError) as why:
            twin = "not run: " + " ".join(str(why).split())[:120]
    finally:
        runner.doCleanups()
    return [case.name, case.fields["Thread"], case.finding, size, answer, twin]


def row(cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def rows_of_page(text):
    """Returns the rows of a page that page() made: cells by program."""
    out = {}
    for line in re.findall(r"^\| \[.*\|$", text, re.M):
        first, *cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        name = re.match(r"\[(\w+)\]", first)[1]
        out[name] = [name, *cells]
    return out


def page(rows):
    lines = []
    for group in sorted({case.group for case, _ in rows}):
        lines += [f"## {group.capitalize()}", "",
                  "| program | thread | cause | figure | memtrace | twin | memray | PyTorch |", "|" + " --- |" * 8]
        lines += [row([f"[{cells[0]}](../tests/mysteries/programs/{group}/{cells[0]}.py)", *cells[1:]])
                  for case, cells in rows if case.group == group]
        lines.append("")
    right = sum(cells[4].startswith("right") for _, cells in rows)
    clean = sum(cells[5] == "clean" for _, cells in rows)
    head = HEAD.format(right=right, all=len(rows), clean=clean, twins=len(rows))
    return head + "\n".join(lines)


def stored_rows():
    """Returns the rows that this build directory has: cells by program."""
    if not os.path.exists(ROWS):
        return {}
    with open(ROWS, encoding="utf-8") as file:
        return json.load(file)


def published_rows():
    if not os.path.exists(PAGE):
        return {}
    with open(PAGE, encoding="utf-8") as file:
        return rows_of_page(file.read())


def newest_rows():
    return {**published_rows(), **stored_rows()}


def keep(name, cells):
    rows = {**stored_rows(), name: cells}
    with open(ROWS, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)


def write_page(cases):
    rows = newest_rows()
    missing = [case.name for case in cases if case.name not in rows]
    if missing:
        sys.exit(f"measure.py: no row of {', '.join(missing)} in {ROWS} or {PAGE}: run them first")
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(page([(case, rows[case.name]) for case in cases]))


def main():
    words = sys.argv[1:]
    if words[:1] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return
    if words == ["--page"]:
        write_page(mystery.all_mysteries())
        return
    options = [word for word in words if word in ("--no-peers", "--peers")]
    names = [word for word in words if word not in options]
    cases = [case for case in mystery.all_mysteries() if not names or case.name in names]
    unknown = set(names) - {case.name for case in cases}
    if unknown:
        sys.exit(f"measure.py: no program {', '.join(sorted(unknown))} in {mystery.PROGRAMS}")
    for case in cases:
        known = newest_rows().get(case.name, [])
        own = known[:6] if known and "--peers" in options else measured(case)
        cells = own + (known[6:] or ["not run", "not run"] if "--no-peers" in options else asked_of_peers(case))
        keep(case.name, cells)
        print(row(cells), flush=True)


if __name__ == "__main__":
    main()
