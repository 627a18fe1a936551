"""Purpose: the timeline and the composition in Chromium: keys, instants, search, history, policy, damage, both themes."""

import contextlib
import pathlib
import subprocess
import tempfile
import unittest

from browser import browser, needs_browser

ROOT = pathlib.Path(__file__).resolve().parents[3]
KINDS = ["small", "million", "windows", "hostile", "cut-small", "version-small", "inject-small"]
MIB = 2 ** 20


@needs_browser
class Plots(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as stack:
            # A folder with a space and a letter beyond ASCII: the page must not care.
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="page \u00e9 ")))
            subprocess.run([ROOT / "web/tests/synthetic", folder, *KINDS], check=True)
            cls.folder, cls.page = folder, stack.enter_context(browser())
            cls.addClassCleanup(stack.pop_all().close)

    def open(self, kind, **state):
        ready = self.page.open(self.folder / f"{kind}.html", **{"tab": "timeline", **state})
        self.addCleanup(lambda: self.page.driver.get("about:blank"))
        return ready

    def keys(self, *keys):
        """Presses keys at the page itself, as a user who never touches the pointer."""
        from selenium.webdriver.common.action_chains import ActionChains
        ActionChains(self.page.driver).send_keys(*keys).perform()
        self.page.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def state(self, field):
        return self.page.run(f"memtrace.state().{field}")

    def console(self):
        return [line["message"] for line in self.page.driver.get_log("browser")]

    def test_opens_at_the_peak_and_says_so(self):
        self.assertEqual(self.open("small"), "shown")
        self.assertIn("Peak of cuda:0", self.page.text(".tab-timeline h2"))
        self.assertIn("At the peak", self.page.text(".composition h2"))
        held = self.page.run("memtrace.bands(memtrace.state().lane, memtrace.state().at)")
        self.assertTrue(held["exact"])
        self.assertEqual(sum(held["bands"].values()), held["level"])
        self.assertEqual(self.console(), [])

    def drawn(self, **change):
        """Returns the calls of each drawing function of the canvases that a change of the state makes."""
        self.page.driver.execute_script("""
            const drawn = window.drawn = {};
            for (const name of ['fillRect', 'strokeRect', 'fillText', 'putImageData', 'lineTo']) {
              const real = window.real?.[name] ?? CanvasRenderingContext2D.prototype[name];
              (window.real ??= {})[name] = real;
              drawn[name] = 0;
              CanvasRenderingContext2D.prototype[name] = function (...given) {
                drawn[name]++;
                return real.apply(this, given);
              };
            }""")
        self.page.driver.execute_async_script(
            "memtrace.go(arguments[0]); requestAnimationFrame(() => requestAnimationFrame(arguments[1]))", change)
        return self.page.run("window.drawn")

    def test_a_frame_draws_what_fits_the_width_not_the_number_of_events(self):
        for kind, events in (("small", 1000), ("million", 900000)):
            self.open(kind)
            stored = "document.body.textContent.match(/all ([0-9,]+) events are stored/)[1]"
            self.assertGreater(int(self.page.run(stored).replace(",", "")), events)
            # The plot has three strips of boxes, each at least two pixels wide, and one canvas.
            end, width = self.page.run("memtrace.end()"), self.page.run("innerWidth")
            for change in ({"from": 0, "to": end * 0.9}, {"from": end * 0.1, "to": end}, {"from": end * 0.4, "to": end / 2},
                           {"at": round(end / 3)}):
                made = self.drawn(**change)
                with self.subTest(kind=kind, change=change):
                    self.assertLess(made["fillRect"], 2 * width)
                    self.assertLess(made["fillText"], width / 3)
                    self.assertLess(made["lineTo"], width)
                    self.assertLessEqual(made["putImageData"], 2)  # the overview and the plot
                    self.assertGreater(made["putImageData"], 0)

    def test_asks_for_nothing_but_its_file(self):
        self.page.driver.get_log("performance")
        self.open("small")
        asked = [line for line in self.page.driver.get_log("performance") if "requestWillBeSent\"" in line["message"]]
        urls = {line["message"].split('"url":"')[1].split('"')[0] for line in asked if '"url":"' in line["message"]}
        self.assertTrue(all(url.startswith(("file:///", "about:", "blob:", "data:")) for url in urls), urls)
        self.assertEqual(len({url.split("#")[0] for url in urls if url.startswith("file:")}), 1, urls)

    def test_keys_zoom_to_a_microsecond_and_back_again(self):
        self.open("small")
        for _ in range(12):
            self.keys("W")
        self.assertAlmostEqual(self.state("to") - self.state("from"), 1000, delta=1)
        self.keys("0")
        self.assertEqual(self.state("from"), 0)
        self.assertEqual(self.state("to"), self.page.run("memtrace.end()"))

    def test_keys_walk_steps_phases_peaks_and_findings(self):
        self.open("small")
        self.keys("]")
        self.assertLess(self.state("to") - self.state("from"), self.page.run("memtrace.end()") / 2)
        self.keys("]")
        first = self.state("from")
        self.keys("[")
        self.assertLess(self.state("from"), first)
        self.keys("0", "f")
        self.assertAlmostEqual(self.state("at"), self.page.run("memtrace.end()") * 0.4, delta=1)
        before = self.state("at")
        self.keys("p")
        self.assertGreater(self.state("at"), before)
        before = self.state("at")
        self.keys("}")
        self.assertGreater(self.state("at"), before)

    def test_marks_are_set_and_found_again(self):
        self.open("small")
        at = self.state("at")
        self.keys("m", "1", "f")
        self.assertNotEqual(self.state("at"), at)
        self.keys("m", "1")
        self.assertEqual(self.state("at"), at)
        self.assertEqual(self.state("tab"), "timeline")

    def test_back_and_a_link_restore_what_was_shown(self):
        self.open("small")
        self.keys("]")
        shown = self.state("from")
        self.keys("0")
        self.page.driver.back()
        self.page.wait(f"Math.abs(memtrace.state().from - {shown}) < 1")
        link = self.page.driver.current_url
        self.page.driver.get("about:blank")
        self.page.driver.get(link)
        self.page.wait("document.documentElement.dataset.ready")
        self.assertAlmostEqual(self.state("from"), shown, delta=1)

    def test_search_says_what_matches_and_walks(self):
        self.open("small")
        self.keys("/", *"gelu")
        self.page.wait("/frames, .* % of live/.test(document.querySelector('.search').textContent)")
        from selenium.webdriver.common.keys import Keys
        self.keys(Keys.ENTER)
        self.assertIn("gelu", self.page.text(".selection h3").lower())
        self.keys(Keys.ESCAPE)
        self.assertEqual(self.state("search"), "")

    def test_the_table_twin_sums_to_the_level(self):
        self.open("small")
        self.keys("t")
        rows = self.page.run("[...document.querySelectorAll('.twins table')[0].querySelectorAll('tbody tr')]"
                             ".map((row) => [...row.cells].map((cell) => cell.textContent))")
        self.assertEqual(rows[-1][0], "sum")
        self.assertAlmostEqual(sum(float(row[2]) for row in rows[:-1]), 100, delta=0.5)

    def test_outside_windows_it_says_which_instant_is_shown(self):
        self.open("windows")
        self.page.run("memtrace.go({at: memtrace.end() * 0.3})")
        self.page.wait("!document.querySelector('.composition .note').hidden")
        self.assertRegex(self.page.text(".composition .note"), r"nearest instant .* (before|after) it")

    def test_hostile_names_stay_text(self):
        self.open("hostile", all="1")
        self.keys("t")
        self.page.wait("document.querySelectorAll('.twins td').length > 0")
        self.assertEqual(self.page.count("#page img, #page script"), 0)
        self.assertNotEqual(self.page.run("document.title"), "broken")
        self.assertEqual(self.console(), [])

    def test_the_policy_blocks_markup_that_slipped_in(self):
        self.open("inject-small")
        self.assertNotEqual(self.page.run("document.title"), "broken")
        said = self.console()
        self.assertTrue(said and all("Content Security Policy" in line or "ERR_FILE_NOT_FOUND" in line for line in said))

    def test_a_damaged_block_says_one_sentence_and_shows_the_text(self):
        for kind, why in (("cut-small", "cut off or changed"), ("version-small", "not of the format")):
            with self.subTest(kind):
                self.assertEqual(self.open(kind), "failed")
                self.assertIn(why, self.page.text("#page"))
                self.assertTrue(self.page.run("document.getElementById('text').offsetHeight > 0"))
                self.assertEqual(self.console(), [])

    def test_both_themes_draw_their_own_colours(self):
        seen = []
        for theme in ("light", "dark"):
            self.page.driver.execute_cdp_cmd(
                "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]})
            self.open("small")
            seen.append(self.page.run(
                "(() => { const c = document.querySelector('.plot canvas');"
                "return [...c.getContext('2d').getImageData(c.width / 2, c.height / 2, 1, 1).data].join(); })()"))
        self.assertNotEqual(seen[0], seen[1])
        self.assertEqual(self.console(), [])

    def test_the_graphs_walk_by_arrows(self):
        self.open("small")
        self.page.run("document.querySelector('.flame').focus()")
        from selenium.webdriver.common.keys import Keys
        self.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
        self.assertRegex(self.page.text(".under:last-child"), r"%")
        self.keys(Keys.ENTER)
        self.assertIsNotNone(self.state("selected"))
        self.assertIsNotNone(self.state("focus"))
        self.keys(Keys.ESCAPE)
        self.assertIsNone(self.state("focus"))


if __name__ == "__main__":
    unittest.main()
