"""Purpose: executes a notebook in the working directory, and prints the data of its plots as JSON, as matplotlib has them.

usage: plotted_data.py NOTEBOOK
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 5, "scripts", "docs_pictures"))
import execute_notebook  # noqa: E402

FIRST = """
import matplotlib.pyplot as plt
all_axes, make = [], plt.subplots
def remembered(*arguments, **more):
    made = make(*arguments, **more)
    all_axes.append(made[1])
    return made
plt.subplots = remembered
"""
LAST = """
import json
def bars_of(axes):
    names = [label.get_text() for label in axes.get_yticklabels()]
    return [dict(zip(names, (bar.get_width() for bar in bars))) for bars in axes.containers]
print(json.dumps([{
    "title": axes.get_title(loc="left"), "x": axes.get_xlabel(), "y": axes.get_ylabel(),
    "dots": [dots.get_offsets().tolist() for dots in axes.collections if hasattr(dots, "get_sizes")],
    "segments": [lines.get_segments()[0].tolist() for lines in axes.collections if hasattr(lines, "get_segments")],
    "lines": [[line.get_color(), line.get_xydata().tolist()] for line in axes.lines],
    "bars": bars_of(axes), "texts": [text.get_text() for text in axes.texts]} for axes in all_axes]))
"""


def main():
    book = execute_notebook.execute(sys.argv[1], FIRST, LAST)
    printed = ["".join(output.text) for cell in book.cells[1:-1] for output in cell.get("outputs", []) if output.output_type == "stream"]
    pictures = sum("image/png" in output.get("data", {}) for cell in book.cells for output in cell.get("outputs", []))
    (plots,) = [json.loads(output.text) for output in book.cells[-1].outputs]
    print(json.dumps({"plots": plots, "printed": printed, "pictures": pictures}))


if __name__ == "__main__":
    main()
