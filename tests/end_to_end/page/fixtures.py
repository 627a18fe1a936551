"""Purpose: the recorded documents and text reports that the tests of the page show."""

import json

import page_file

FOLDER = page_file.ROOT / "web" / "tests" / "fixtures"


def documents(name):
    """Returns the documents of a fixture, by their keys in the page."""
    out = json.loads((FOLDER / f"{name}.json").read_text())
    if out["first_vs_steady"]:
        out["first_vs_steady"]["rows"].reverse()  # so that the page has something to sort
    return out


def text_report(name):
    """Returns the text report of a fixture, as the command printed it."""
    return (FOLDER / f"{name}.txt").read_text()
