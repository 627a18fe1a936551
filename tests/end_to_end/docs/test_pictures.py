"""Purpose: tests that the pictures and the terminal screens of the docs show what memtrace shows now.

Each is made again, from a new run of the same program. Times, pids and sizes differ between runs, and rows of equal size
change places. So two pictures are equal if they have the same texts, apart from numbers, and about the same colours.
Over time, the areas depend on the speed of the machine: there, no colour may appear or vanish.
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

ROOT = pathlib.Path(harness.ROOT)
SCRIPTS = ROOT / "scripts" / "docs_pictures"
sys.path.insert(0, str(SCRIPTS))
import make  # noqa: E402
import pages  # noqa: E402
import png  # noqa: E402
import screens  # noqa: E402

DRAWINGS = ROOT / "docs" / "drawings"  # made by hand
READERS = ("perfetto", "pprof", "torch-stats", "sqlite")  # not in each run of the tests: their readers take most of the time
NUMBER = re.compile(r"[+-]?\d[\d.,]*(?:\s?(?:ns|µs|ms|s|min|[KMG]iB)\b)?|–")
# The share of the pixels that may change. Runs differed by up to 0.008; without its plot, the composition differs by
# 0.24, the steps by 0.008.
MOST_CHANGED = {"report-findings": 0.02, "report-composition": 0.03, "report-steps": 0.006, "pprof": 0.03}
KIB = 1 << 10


def words_of(screen):
    """Returns how often each word occurs. Lines are wrapped elsewhere if a number is longer."""
    return collections.Counter(re.sub("─+", "─", NUMBER.sub("#", screen)).split())


def texts_of(picture):
    """Returns how often each text of a picture occurs."""
    return collections.Counter(" ".join(NUMBER.sub("#", text).split()) for text in png.text(picture).splitlines())


def changed(before, now):
    """Returns the share of the pixels whose colour is another one, wherever they are."""
    return sum(abs(before[colour] - now[colour]) for colour in before.keys() | now.keys()) / 2


def gone(before, now):
    """Returns the colours that had at least 1 of 200 pixels, and now have less than an eighth of that."""
    return {colour for colour, share in before.items() if share >= 0.005 and now[colour] < share / 8}


class Case(unittest.TestCase):
    maxDiff = 4000

    def make(self, names):
        """Returns the folder with the pictures and screens of these names."""
        harness.torch_python()
        if lacking := make.browser.missing():
            self.skipTest(f"not installed: {', '.join(lacking)}")
        folder = pathlib.Path(tempfile.mkdtemp(prefix="memtrace-test-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        done = subprocess.run([sys.executable, SCRIPTS / "make.py", "--into", folder, *names], check=False, timeout=600,
                              env=harness.bare_environment(BUILD_DIR=harness.BUILD, MEMTRACE_CACHE=harness.CACHE),
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return folder

    def assert_same_texts(self, name, shown, now):
        self.assertEqual((sorted(shown - now), sorted(now - shown)), ([], []),
                         f"{name}: the first list is in the docs only, the second is what memtrace shows. "
                         "If that is right, run scripts/pictures")

    def check_screen(self, name, folder):
        now = (folder / f"{name}.txt").read_text(encoding="utf-8")
        self.assert_same_texts(name, words_of(screens.shown(name)), words_of(now))

    def check_picture(self, name, folder):
        shown, now = make.FOLDER / f"{name}.png", folder / f"{name}.png"
        self.assert_same_texts(name, texts_of(shown), texts_of(now))
        (width, height), (width_now, height_now) = png.size(shown), png.size(now)
        self.assertEqual(width, width_now)
        self.assertAlmostEqual(height, height_now, delta=40, msg=name)
        before, after = png.colours(shown), png.colours(now)
        if name in MOST_CHANGED:
            self.assertLess(changed(before, after), MOST_CHANGED[name], f"{name}: run scripts/pictures")
        else:
            self.assertEqual((gone(before, after), gone(after, before)), (set(), set()), f"{name}: run scripts/pictures")

    def check(self, names):
        folder = self.make(names)
        for name in names:
            with self.subTest(name):
                (self.check_picture if name in make.PICTURES else self.check_screen)(name, folder)


class Shown(Case):
    """What the docs show of memtrace itself."""

    def test_is_what_memtrace_shows(self):
        self.check([name for name in (*make.SCREENS, *make.PICTURES) if name not in READERS])


class Readers(Case):
    """What the docs show of programs that open an export."""

    @harness.only_in_long  # Perfetto, pprof and PyTorch take 15 s of CPU time
    def test_show_what_the_docs_show(self):
        for needed, there in (("Perfetto: scripts/setup --long", pages.PERFETTO.exists()), ("go", shutil.which("go")),
                              ("sqlite3", shutil.which("sqlite3"))):
            if not there:
                self.skipTest(f"not installed: {needed}")
        self.check(READERS)


class Pages(unittest.TestCase):
    """The pages that show pictures."""

    def test_each_picture_is_shown_with_words(self):
        shown = collections.Counter()
        for page in screens.pages():
            for words, path in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
                self.assertGreater(len(words.split()), 5, f"{page.name}: {path} needs words for those who cannot see it")
                shown[(page.parent / path).resolve()] += 1
        made, drawn = set(make.FOLDER.iterdir()), set(DRAWINGS.iterdir())
        self.assertEqual(made, {make.FOLDER / f"{name}.png" for name in make.PICTURES}, "scripts/pictures makes these")
        self.assertEqual(set(shown), made | drawn)

    def test_the_drawing_has_the_steps_of_its_page(self):
        drawing = (DRAWINGS / "data-path.svg").read_text(encoding="utf-8")
        steps = re.findall(r"^\*\*(\d+)\. (.*?)\.\*\*", (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8"), re.M)
        self.assertEqual(re.findall(r'class="number"[^>]*>(\d+)</text><text class="name"[^>]*>(.*?)</text>', drawing), steps)
        self.assertGreater(len(steps), 10)

    def test_each_screen_is_in_one_page(self):
        for name in make.SCREENS:
            with self.subTest(name):
                self.assertGreater(len(screens.shown(name).splitlines()), 3)
        marks = [mark for page in screens.pages() for mark in
                 re.findall(r"<!-- scripts/pictures: (.*?) -->", page.read_text(encoding="utf-8"))]
        self.assertEqual(sorted(marks), sorted(make.SCREENS))

    def test_no_path_of_a_machine_is_shown(self):
        for name, text in [*((name, png.text(make.FOLDER / f"{name}.png")) for name in make.PICTURES),
                           *((name, screens.shown(name)) for name in make.SCREENS)]:
            self.assertNotRegex(text, r"(?<![\w./])/(?:[\w.-]+/)+[\w.]", name)

    def test_pictures_are_small(self):
        sizes = {path.name: path.stat().st_size for path in make.FOLDER.iterdir()}
        self.assertLess(max(sizes.values()), 150 * KIB, sizes)
        self.assertLess(sum(sizes.values()), 1200 * KIB, sizes)


if __name__ == "__main__":
    unittest.main()
