"""Purpose: builds the documentation as a site, and tests it: each page and option is there, no link is broken, and a page
makes no request to another host.

The truth is --help, the files of docs/ and the HTML of the pages.
"""
import glob
import html.parser
import os
import re
import shutil
import subprocess
import unittest

import harness

SCRIPT = os.path.join("scripts", "site")
# Attributes that a browser follows without a click. A link that it follows by a click is none.
FETCHED = {("link", "href"), ("use", "href"), ("image", "href"), ("object", "data"), ("video", "poster")}


def text_of(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


class Requests(html.parser.HTMLParser):
    """The addresses that a browser fetches when it shows a page, and all text."""

    def __init__(self, text):
        super().__init__()
        self.found, self.text, self.inside = [], "", ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.inside = tag
        for name, value in attrs:
            if name in ("src", "srcset", "style") or (tag, name) in FETCHED:
                self.found.append(value or "")

    def handle_data(self, data):
        self.text += data
        if self.inside in ("style", "script"):
            self.found += re.findall(r"(?:url\(|@import|fetch\(|import\()\s*[\"']?[^\"')]+", data)


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        harness.existing(os.path.join(harness.CACHE, "site", "bin", "mkdocs"), "scripts/setup installs it where pip can reach it")

    def build(self, root, status, **more):
        """Returns what scripts/site of a tree says. The site is in self.site."""
        self.site = os.path.join(self.scratch, "site")
        environment = harness.bare_environment(**{"BUILD_DIR": harness.BUILD, "MEMTRACE_CACHE": harness.CACHE, **more})
        done = subprocess.run([os.path.join(root, SCRIPT), "--into", self.site], env=environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr


class Site(Case):
    def setUp(self):
        super().setUp()
        self.build(harness.ROOT, 0)
        names = glob.glob("**/*.html", root_dir=self.site, recursive=True)
        self.pages = {name: Requests(text_of(self.site, name)) for name in names}

    def test_the_built_pages(self):
        with self.subTest("each document has a page"):
            documents = glob.glob("**/*.md", root_dir=os.path.join(harness.ROOT, "docs"), recursive=True)
            self.assertEqual([one for one in documents if one.replace("README", "index")[:-2] + "html" not in self.pages], [])
        with self.subTest("a notebook is a page with its plots, and each link to it leads there"):
            plots = self.pages["fleet-plots.html"].found
            self.assertEqual([one for one in plots if one.startswith("fleet-plots")], [f"fleet-plots-{number}.png" for number in range(1, 6)])
            self.assertNotIn('href="fleet-plots.ipynb"', text_of(self.site, "fleet.html"))
            self.assertTrue(os.path.isfile(os.path.join(self.site, "fleet-plots.ipynb")))
        with self.subTest("no page makes a request to another host"):
            self.assertGreater(sum(len(page.found) for page in self.pages.values()), 4 * len(self.pages))
            for name, page in self.pages.items():
                self.assertEqual([one for one in page.found if re.search(r"//", one)], [], name)
                self.assertNotIn("<!-- scripts/site:", text_of(self.site, name))
            for name in glob.glob("**/*.css", root_dir=self.site, recursive=True):
                self.assertEqual(re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)]*", text_of(self.site, name)), [], name)
        with self.subTest("the reference has each option of --help, and each field of the package's types"):
            self.check_reference()

    def check_reference(self):
        reference = self.pages["reference/commands.html"].text
        commands = re.findall(r"^    (\w+) ", self.help_of().partition("Subcommands:")[2], re.M)
        self.assertGreaterEqual(len(commands), 13)
        for command in commands:
            part = reference.partition(f"memtrace {command} [OPTION...]")[2].partition("[OPTION...]")[0]
            for line in self.help_of(command).partition("Options:")[2].splitlines():
                words = line.split()
                if words and words[0].startswith("-"):
                    self.assertIn(" ".join(line[4:].partition("  ")[0].split()), part, command)
        functions = re.findall(r"^MEMTRACE_CALL\((\w+), ", text_of(harness.ROOT, "preload", "api", "memtrace.h"), re.M)
        self.assertGreater(len(functions), 4)
        for name in (*functions, "is_recording"):
            self.assertIn(f"memtrace_{name}(", self.pages["reference/c.html"].text)
        types = re.findall(r"^class (\w+):|^    (\w+): ", text_of(harness.ROOT, "python", "memtrace", "model.py"), re.M)
        for name in filter(None, (name for pair in types for name in pair if pair[0] != "Reader")):
            self.assertRegex(self.pages["reference/python.html"].text, rf"\b{name}\b")

    def help_of(self, *command):
        return subprocess.run([harness.COMMAND, *command, "--help"], capture_output=True, text=True, check=True).stdout


class Faults(Case):
    """A tree with the scripts and the settings of this one, and one page."""

    def tree(self, page):
        root = os.path.join(self.scratch, "tree")
        shutil.copytree(os.path.join(harness.ROOT, "scripts"), os.path.join(root, "scripts"), ignore=shutil.ignore_patterns("__pycache__"))
        os.makedirs(os.path.join(root, "docs"))
        for name, text in (("mkdocs.yml", text_of(harness.ROOT, "mkdocs.yml").partition("\nnav:")[0]),
                           (os.path.join("docs", "README.md"), page), (os.path.join("docs", "other.md"), "# Other\n\n## A part\n")):
            with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                file.write(text)
        return root

    def rejects(self, page, *said):
        text = self.build(self.tree(page), 1)
        for part in said:
            self.assertIn(part, text)
        shutil.rmtree(os.path.join(self.scratch, "tree"))

    def test_planted_faults(self):
        self.build(self.tree("# A\n\n[to the other](other.md#a-part)\n"), 0)  # it is not rejected for another reason
        shutil.rmtree(os.path.join(self.scratch, "tree"))
        self.rejects("# A\n\n[to nothing](missing.md)\n", "'missing.md'", "Aborted")
        self.rejects("# A\n\n[to nothing](other.md#no-part)\n", "no-part", "Aborted")
        self.rejects("# A\n\n<!-- scripts/site: comands -->\n", "no part 'comands'; there are commands, environment")

    def test_no_build(self):
        text = self.build(harness.ROOT, 1, BUILD_DIR=self.scratch)
        self.assertIn(f"there is no {self.scratch}/analyzer/memtrace", text)
        self.assertIn("cmake --preset dev && cmake --build --preset dev", text)


if __name__ == "__main__":
    unittest.main()
