"""Purpose: tests the page in the frame that memtrace.Trace.page() gives a notebook, in a browser."""
import pathlib
import sys
import tempfile
import unittest

import page_file
from browser import browser, needs_browser
from fixtures import documents, text_report

sys.path.insert(0, str(page_file.ROOT / "python"))
from memtrace import display  # noqa: E402

REACH = "(() => { try { return parent.document.title; } catch (error) { return error.name; } })()"


@needs_browser
class InlinePage(unittest.TestCase):
    def test_the_page_works_in_its_frame(self):
        with tempfile.TemporaryDirectory() as folder, browser() as page:
            path = page_file.write_page(f"{folder}/page.html", documents("falcon"), text_report("falcon"))
            frame = display.Page(pathlib.Path(path).read_text(encoding="utf-8"), 700)._repr_html_()
            notebook = pathlib.Path(folder, "notebook.html")
            notebook.write_text(f"<!doctype html><title>notebook</title><body>{frame}</body>", encoding="utf-8")
            page.driver.get(notebook.as_uri())
            page.driver.switch_to.frame(0)
            page.wait("document.documentElement.dataset.ready")
            self.assertEqual(page.run("document.documentElement.dataset.ready"), "shown")
            self.assertEqual(page.text("h1"), "falcon_adamw.py")
            page.click("#tab-peaks")  # the page keeps its state in the address
            page.wait('document.querySelector("#tab-peaks").getAttribute("aria-selected") === "true"')
            self.assertEqual(page.run("innerHeight"), 700)
            self.assertEqual(page.run(REACH), "SecurityError")
            self.assertEqual(page.console(), [])
            self.assertEqual(page.requests(), [])


if __name__ == "__main__":
    unittest.main()
