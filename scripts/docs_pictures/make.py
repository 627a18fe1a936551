"""Purpose: makes the pictures, the screens and the notebook of the docs. Run by scripts/pictures, and by the test of the docs.

usage: make.py [--into FOLDER] [NAME...]
NAME: a picture, a screen or a notebook; all by default. FOLDER gets NAME.png, NAME.txt or NAME.ipynb, and the docs stay as
they are. BUILD_DIR is the build, build/dev by default. Needs a Python with Selenium.
"""
import argparse
import pathlib
import tempfile

import browser
import notebooks
import pages
import screens
import training

PICTURES = {"report-timeline": pages.timeline, "report-findings": pages.findings,
            "report-composition": pages.composition, "report-steps": pages.steps,
            "perfetto": pages.perfetto, "pprof": pages.pprof}
SCREENS = {"report": screens.report, "tree": screens.tree, "folded": screens.folded, "sqlite": screens.sqlite,
           "torch-stats": screens.torch_stats}
NOTEBOOKS = {"fleet-plots": notebooks.fleet_plots}
FOLDER = training.ROOT / "docs" / "pictures"


def make(run, names, into):
    """Makes what has these names in the folder `into`, or in the docs if it is None."""
    for name in filter(SCREENS.get, names):
        text = SCREENS[name](run)
        if into is None:
            screens.renew(name, text)
        else:
            (into / f"{name}.txt").write_text(text, encoding="utf-8")
    for name in filter(NOTEBOOKS.get, names):
        text = NOTEBOOKS[name](run)
        ((into or notebooks.FOLDER) / f"{name}.ipynb").write_text(text, encoding="utf-8")
    pictures = [name for name in names if name in PICTURES]
    if pictures:
        with browser.browser() as chromium:
            for name in pictures:
                PICTURES[name](chromium, run, (into or FOLDER) / f"{name}.png")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--into", type=pathlib.Path)
    parser.add_argument("name", nargs="*", choices=[[], *PICTURES, *SCREENS, *NOTEBOOKS])
    arguments = parser.parse_args()
    if lacking := browser.missing() + notebooks.missing():
        raise SystemExit(f"not installed: {', '.join(lacking)}; scripts/setup installs them")
    with tempfile.TemporaryDirectory() as folder:
        make(training.Training(folder), arguments.name or [*SCREENS, *NOTEBOOKS, *PICTURES], arguments.into)


if __name__ == "__main__":
    main()
