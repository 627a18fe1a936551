"""Purpose: tests that the page can be read in the dark, enlarged, by keys alone, on paper and by a screen reader."""

import tempfile
import unittest

import page_file
from browser import browser, needs_browser
from fixtures import documents, text_report


class Modes(unittest.TestCase):
    """The page can be read in the dark, enlarged, with forced colours, on paper and by a screen reader."""

    TABS = ("findings", "peaks", "steps", "ledger", "explain", "diff", "text", "help")

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.path = page_file.write_page(f"{cls.folder}/falcon.html", documents("falcon"), text_report("falcon"))
        cls.page = cls.enterClassContext(browser())

    def background(self):
        return self.page.run("getComputedStyle(document.body).backgroundColor")

    def test_theme_follows_the_system_and_the_switch(self):
        dark, light = "rgb(21, 24, 29)", "rgb(255, 255, 255)"
        for system, shown in (("dark", dark), ("light", light)):
            self.page.media(prefers_color_scheme=system)
            self.page.open(self.path, "findings")
            self.assertEqual(self.background(), shown)
        self.page.choose("#theme", "dark")
        self.assertEqual(self.background(), dark)
        self.page.open(self.path, "findings")
        self.assertEqual(self.background(), dark)
        self.page.choose("#theme", "auto")
        self.assertEqual(self.background(), light)

    def test_twice_the_size_loses_nothing(self):
        self.page.size(750, 550)
        for tab in self.TABS:
            self.page.open(self.path, tab)
            # Wide tables scroll in their own region; the page itself does not scroll sideways.
            self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), 750, tab)
        self.page.size(1500, 1100)

    def test_targets_are_large_enough(self):
        for tab in self.TABS:
            self.page.open(self.path, tab)
            small = self.page.run("""[...document.querySelectorAll("button, select, summary, input")]
              .map((one) => [one, one.getBoundingClientRect()])
              .filter(([, box]) => box.width > 0 && (box.width < 24 || box.height < 24))
              .map(([one, box]) => `${one.textContent} ${box.width} x ${box.height}`)""")
            self.assertEqual(small, [], tab)

    def test_focus_is_visible(self):
        self.page.open(self.path, "peaks")
        self.page.driver.switch_to.active_element.send_keys("\ue004\ue004")
        outline = self.page.run('(() => { const style = getComputedStyle(document.activeElement); '
                                'return [style.outlineStyle, style.outlineWidth]; })()')
        self.assertEqual(outline, ["solid", "2px"])

    def press(self, *keys):
        for key in keys:
            self.page.driver.switch_to.active_element.send_keys(key)

    def test_keys_alone_lead_through_the_page(self):
        enter, tab, right = "\ue007", "\ue004", "\ue014"
        focus = 'document.activeElement.matches(arguments[0])'
        self.page.open(self.path, "findings")
        self.page.run('document.querySelector("#tab-findings").focus()')
        self.press(tab)
        self.assertTrue(self.page.run(focus, ".show"))
        self.press(enter)
        self.page.wait('document.querySelector("#tab-timeline").getAttribute("aria-selected") === "true"')
        self.page.open(self.path, "composition")
        self.page.run('document.querySelector("#tab-composition").focus()')
        self.press(right)
        self.page.wait('document.querySelector("#tab-peaks").getAttribute("aria-selected") === "true"')
        for _ in range(40):
            self.press(tab)
            if self.page.run(focus, "#peak .opener"):
                break
        self.press(enter)
        self.assertEqual(self.page.count('#peak .opener[aria-expanded="true"]'), 1)
        self.assertGreater(self.page.count("#peak .frames"), 0)

    def test_question_mark_opens_the_help(self):
        self.page.open(self.path, "findings")
        self.page.driver.switch_to.active_element.send_keys("?")
        self.page.wait('document.querySelector("#tab-help").getAttribute("aria-selected") === "true"')
        self.assertIn("zoom about the cursor", self.page.text("#keys"))

    def test_every_control_and_table_has_a_name(self):
        for tab in self.TABS:
            self.page.open(self.path, tab)
            unnamed = [role for role, name in self.page.tree()
                       if role in ("button", "combobox", "table", "tab", "tabpanel", "region", "image", "columnheader")
                       and not name.strip()]
            self.assertEqual(unnamed, [], tab)

    def test_tables_are_tables_for_a_screen_reader(self):
        self.page.open(self.path, "ledger")
        tree = self.page.tree()
        self.assertIn(("table", "Resident memory of the process, at its highest, MiB"), tree)
        self.assertIn("columnheader", {role for role, _ in tree})
        self.assertIn(("rowheader", "kept by the allocator"), tree)

    def test_forced_colours_keep_the_roles(self):
        self.page.media(forced_colors="active")
        self.page.open(self.path, "peaks")
        self.assertEqual(self.page.run('getComputedStyle(document.querySelector(".patch")).forcedColorAdjust'), "none")
        self.page.media(forced_colors="none")

    def test_paper_has_the_text_report(self):
        self.page.open(self.path, "findings")
        self.page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        self.assertEqual(self.page.run('getComputedStyle(document.querySelector("#text")).display'), "block")
        self.assertEqual(self.page.run('getComputedStyle(document.querySelector(".tabs")).display'), "none")
        self.page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        self.assertTrue(self.page.pdf().startswith(b"%PDF"))


Modes = needs_browser(Modes)

if __name__ == "__main__":
    unittest.main()
