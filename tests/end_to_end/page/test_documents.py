"""Purpose: tests that the tabs of the documents have their figures, to the byte, and lead to the moment."""

import copy
import tempfile
import unittest

import page_file
from browser import browser, needs_browser
from fixtures import documents, text_report

MARKUP = "<script>window.hit=1</script><img src=x onerror=window.hit=1>"
HOSTILE = [MARKUP, "a\u202eb\u2066c", "s" * 10_000, "\ufffd\ufffd", "\U0001f600 =cmd()", "x\ud800y",
           "\t\n\x00\x1b[31m"]


class Views(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.pages = {name: page_file.write_page(f"{cls.folder}/{name}.html", documents(name), text_report(name))
                     for name in ("falcon", "killed")}
        cls.page = cls.enterClassContext(browser())

    def tearDown(self):
        self.assertEqual(self.page.console(), [])

    def open(self, name, tab, **state):
        self.assertEqual(self.page.open(self.pages[name], tab, **state), "shown")
        return documents(name)["report"]["processes"][0]

    def peak(self, process, measure):
        return next(one for one in process["peaks"] if one["measure"] == measure)

    def test_head_has_the_program_its_end_and_its_peaks(self):
        for name, ended in (("falcon", "finished after 27.3 s"), ("killed", "killed for memory after 7.0 s")):
            process = self.open(name, "findings")
            self.assertIn(ended, self.page.text(".badge"))
            tiles = self.page.bytes(".tile .bytes")
            live, tensor = self.peak(process, "live"), self.peak(process, "tensor")
            self.assertEqual(tiles[:2], [tensor["bytes"], live["bytes"] - live["reserved_untouched"]])
        self.assertEqual(self.page.text("h1"), "cpu_oom.py")

    def test_findings_have_title_figures_evidence_and_remedy(self):
        process = self.open("falcon", "findings")
        finding = process["findings"][0]
        shown = self.page.text(".finding")
        for part in (finding["title"], finding["remedy"], finding["no_remedy"], finding["confidence"]):
            self.assertIn(part, shown)
        bytes_shown = self.page.bytes(".finding [data-bytes]")
        for amount in (finding["bytes"], finding["bytes_at_peak"], finding["bytes_at_end"], finding["saving"]["bytes"]):
            self.assertIn(amount, bytes_shown)
        self.assertEqual(self.page.count(".finding .evidence li"), len(finding["evidence"]))

    def test_show_leads_to_the_moment_of_the_finding(self):
        process = self.open("killed", "findings")
        self.page.click(".finding .show", 1)
        self.page.wait('location.hash.includes("tab=timeline")')
        state = dict(part.split("=") for part in self.page.run("location.hash.slice(1)").split("&"))
        mark = page_file.process_info(process, 0)["marks"][1]
        self.assertEqual(int(state["t"]), mark["t"])
        self.page.run("history.back()")
        self.page.wait('document.querySelector("#tab-findings").getAttribute("aria-selected") === "true"')

    def test_rows_of_a_peak_add_up_to_it(self):
        process = self.open("falcon", "peaks")
        for measure in ("tensor", "live"):
            peak = self.peak(process, measure)
            for by in ("line", "site", "role", "phase"):
                self.page.open(self.pages["falcon"], "peaks", c=f"peaks:host/{measure},{by}")
                rows = self.page.table("#peak")
                self.assertEqual(sum(row["MiB"] for row in rows), peak["bytes"])
                self.assertEqual(self.page.footer("#peak")["total"], [peak["bytes"]])

    def test_a_row_opens_to_its_stack(self):
        process = self.open("falcon", "peaks")
        self.page.click("#peak .opener")
        shown = self.page.text("#peak .frames")
        largest = max(self.peak(process, "tensor")["at_peak"], key=lambda row: row["bytes"])
        frames = process["sites"][largest["site"]["id"]]["frames"]
        own = [frame for frame in frames if frame["file"].startswith("/home")]
        self.assertIn(own[0]["function"], shown)
        self.assertIn(f":{own[0]['line']}", shown)
        self.assertEqual(self.page.run('document.querySelector("#peak .opener").getAttribute("aria-expanded")'), "true")

    def test_phases_have_the_levels_of_the_document(self):
        process = self.open("falcon", "steps")
        rows = self.page.table("#phases")
        wanted = [row["tensor"] for row in process["phases"] if row.get("tensor") and row["tensor"]["peak_live"]]
        self.assertEqual([(row["entry"], row["peak"], row["exit"], row["kept"], row["temporary"]) for row in rows],
                         [(one["entry_live"], one["peak_live"], one["exit_live"], one["net"], one["transient"])
                          for one in wanted])

    def test_any_two_steps_can_be_compared(self):
        process = self.open("falcon", "steps", c="steps:host/live,0,steady")
        pairs = self.page.table("#pair")
        for row, name in zip(pairs, ("forward", "loss", "backward", "step", "zero_grad")):
            levels = {one["step"]: one["peak_live"] for one in process["phases"] if one["phase"] == name}
            self.assertEqual(row["change"], levels["steady"] - levels[0])
        self.page.choose("#step-b", "0")
        self.page.wait('document.querySelector("#pair caption").textContent.startsWith("step 0 and step 0")')
        self.assertEqual({row["change"] for row in self.page.table("#pair")}, {0})

    def test_ledgers_close(self):
        for name in ("falcon", "killed"):
            process = self.open(name, "ledger")
            for number, ledger in enumerate(process["ledger"]):
                unit = "GiB" if ledger["total"] >= 4 << 30 else "MiB"
                rows = self.page.table(f"#ledger-{number}")
                self.assertEqual([row[unit] for row in rows], [row["bytes"] for row in ledger["rows"]])
                foot = self.page.footer(f"#ledger-{number}")
                (total,), (residual,) = foot.pop("sum of the parts"), foot.pop("residual: not explained")
                (measured,), = foot.values()
                self.assertEqual((residual, measured), (ledger["residual"], ledger["total"]))
                self.assertEqual(total + residual, measured)

    def test_bytes_per_parameter(self):
        self.open("falcon", "explain")
        explain = documents("falcon")["explain"]
        kept = [row for row in explain["rows"] if row["kept"]]
        rows = self.page.table("#explain-kept")
        self.assertEqual([row["resident"] for row in rows], [row["resident"] for row in kept])
        self.assertIn("20.38 bytes per parameter kept, theory 16.00", self.page.text(".headline"))

    def test_differences_are_sorted_by_their_size_and_signed(self):
        self.open("falcon", "diff")
        diff = documents("falcon")["first_vs_steady"]
        rows = self.page.table("#first-vs-steady")
        changes = [row["change"] for row in rows]
        self.assertEqual(changes, sorted((row["change"] for row in diff["rows"]), key=abs, reverse=True))
        self.assertEqual(sum(changes), diff["total"])
        for css, sign in (("grew", "+"), ("shrank", "-")):
            shown = self.page.texts(f"td.{css}")
            self.assertTrue(shown and all(text.startswith(sign) for text in shown), shown)

    def test_death_has_its_evidence_and_its_holders(self):
        self.open("killed", "postmortem")
        process = documents("killed")["postmortem"]["processes"][0]
        death = process["death"]
        self.assertEqual(self.page.texts(".evidence")[0], "".join(process["end"]["evidence"]))
        held = sum(row["MiB"] for row in self.page.table("#held"))
        self.assertEqual(held, sum(row["bytes"] for row in death["held"]))
        self.assertEqual([row["MiB"] for row in self.page.table("#last")], [one["bytes"] for one in death["last"]])
        figures = self.page.bytes(".figures [data-bytes]")
        self.assertEqual(figures[:2], [death["live"], death["tensor"]])
        self.assertIn(death["limit"], figures)

    def test_a_run_that_ended_well_has_no_tab_of_a_death(self):
        self.open("falcon", "findings")
        self.assertEqual(self.page.count("#tab-postmortem"), 0)

    def test_text_report_is_as_it_was_printed(self):
        self.open("falcon", "text")
        self.assertEqual(self.page.run('document.querySelector(".report-text").textContent'), text_report("falcon"))

    def test_headings_sort_and_say_so(self):
        self.open("falcon", "ledger")
        before = [row["MiB"] for row in self.page.table("#ledger-0")]
        self.page.click("#ledger-0 thead button", 1)
        self.assertEqual([row["MiB"] for row in self.page.table("#ledger-0")], sorted(before, reverse=True))
        self.page.click("#ledger-0 thead button", 1)
        self.assertEqual([row["MiB"] for row in self.page.table("#ledger-0")], sorted(before))
        self.assertEqual(self.page.count('#ledger-0 th[aria-sort="ascending"]'), 1)

    def test_copy_has_exact_bytes(self):
        process = self.open("falcon", "ledger")
        self.page.run("(navigator.clipboard.writeText = async (text) => { window.copied = text; }, 0)")
        self.page.click("#panel-ledger .tools button")
        lines = self.page.wait("window.copied").split("\n")
        for line, row in zip(lines[1:], process["ledger"][0]["rows"]):
            self.assertEqual(line.split("\t")[:2], [row["name"], str(row["bytes"])])

    def test_no_request_leaves_the_page(self):
        for tab in ("findings", "peaks", "steps", "ledger", "explain", "diff", "text", "help"):
            self.open("falcon", tab)
        self.assertEqual(self.page.requests(), [])


class Runs(unittest.TestCase):
    """A page may have several processes, or two runs to compare."""

    def test_the_switch_shows_another_process(self):
        both = documents("falcon")
        both["report"]["processes"] += documents("killed")["report"]["processes"]
        both["postmortem"] = documents("killed")["postmortem"]
        with tempfile.TemporaryDirectory() as folder, browser() as page:
            path = page_file.write_page(f"{folder}/both.html", both)
            page.open(path, "findings")
            self.assertEqual((page.text("h1"), page.count(".finding")), ("falcon_adamw.py", 1))
            page.choose("#process", "1")
            page.wait('document.querySelector("h1").textContent === "cpu_oom.py"')
            self.assertEqual(page.count(".finding"), 2)
            page.open(path, "postmortem")
            self.assertIn("finished", page.text("#panel-postmortem"))
            page.open(path, "postmortem", p=1)
            self.assertIn("Killed for memory in load", page.text("#panel-postmortem"))
            self.assertEqual(page.console(), [])

    def test_a_trace_with_nothing_opens(self):
        bare = documents("falcon")
        process = bare["report"]["processes"][0]
        process.update(peaks=[], phases=[], ledger=[], findings=[], sites={}, parameters=None, argv=[])
        with tempfile.TemporaryDirectory() as folder, browser() as page:
            path = page_file.write_page(f"{folder}/bare.html", {"report": bare["report"]})
            for tab in ("findings", "peaks", "steps", "ledger", "help"):
                self.assertEqual(page.open(path, tab), "shown")
                self.assertTrue(page.text(f"#panel-{tab}"), tab)
            self.assertEqual(page.count("#tab-explain, #tab-diff, #tab-postmortem"), 0)
            page.open(path, "findings")
            self.assertIn("none of the causes that it looks for", page.text("#panel-findings"))
            self.assertEqual(page.console(), [])

    def test_what_the_trace_does_not_know_is_left_out(self):
        """A peak in a range of steps has no instant. The touched bytes of a block that was being filled may be unknown."""
        killed = documents("killed")
        for peak in killed["report"]["processes"][0]["peaks"]:
            peak["t"] = None
        death = killed["postmortem"]["processes"][0]["death"]
        death["filling"] = {**death["last"][-1], "bytes": 64 << 20, "touched": None}
        with tempfile.TemporaryDirectory() as folder, browser() as page:
            path = page_file.write_page(f"{folder}/unknown.html", killed)
            for tab in ("findings", "peaks"):
                self.assertEqual(page.open(path, tab), "shown")
                self.assertRegex(page.text(f"#panel-{tab} .lead"), "in load ?[.]")
            page.open(path, "postmortem")
            self.assertIn("It was filling a block of 64.00 MiB: ", page.text("#panel-postmortem"))
            self.assertEqual(page.console(), [])

    def test_sixteen_gpus_have_their_peaks(self):
        many = documents("falcon")
        process = many["report"]["processes"][0]
        host = [peak for peak in process["peaks"] if peak["measure"] != "rss"]
        for gpu in range(16):
            process["devices"].append({"memory": f"cuda:{gpu}", "uuid": "", "name": "GPU", "total": 80 << 30})
            process["peaks"] += [{**peak, "memory": f"cuda:{gpu}", "reserved_untouched": 0} for peak in host]
        with tempfile.TemporaryDirectory() as folder, browser() as page:
            path = page_file.write_page(f"{folder}/many.html", {"report": many["report"]})
            page.open(path, "peaks", c="peaks:cuda:15/tensor,line")
            tensor = next(peak for peak in host if peak["measure"] == "tensor")
            self.assertEqual(page.footer("#peak")["total"], [tensor["bytes"]])
            self.assertEqual(page.count(".tile"), 2 + 1 + 16 * 2)
            self.assertLessEqual(page.run("document.documentElement.scrollWidth"), 1500)
            self.assertEqual(page.console(), [])

    def test_a_comparison_has_its_differences_and_no_findings(self):
        of_steps = documents("falcon")["first_vs_steady"]
        diff = {**of_steps, "a": "train.py pid 1, in update 0", "b": "train.py pid 2, in update 0", "first_step": None}
        with tempfile.TemporaryDirectory() as folder, browser() as page:
            path = page_file.write_page(f"{folder}/diff.html", {"report": None, "diff": diff}, "text of the comparison")
            self.assertEqual(page.open(path, "diff"), "shown")
            self.assertEqual(page.texts(".tabs button"), ["Timeline", "Composition", "Differences", "Text", "Help"])
            self.assertEqual(page.footer("#diff")["total"], [side["bytes"] for side in diff["sides"]] + [diff["total"]])
            self.assertEqual(page.bytes(".tile .bytes"), [diff["sides"][0]["bytes"]])
            self.assertEqual(page.console(), [])


class Names(unittest.TestCase):
    """Names come from the traced program: they are text, whatever they hold."""

    def hostile(self):
        out = copy.deepcopy(documents("falcon"))
        process = out["report"]["processes"][0]
        for number, site in enumerate(process["sites"].values()):
            for frame in site["frames"]:
                frame["function"] = frame["file"] = HOSTILE[number % len(HOSTILE)]
        process["argv"] = ["python", MARKUP]
        process["findings"][0].update(title=MARKUP, remedy=HOSTILE[1], evidence=HOSTILE)
        process["phases"][3].update(phase=MARKUP, path=[MARKUP, HOSTILE[2]])
        process["ledger"][0]["rows"][0]["name"] = MARKUP
        out["first_vs_steady"].update(a=MARKUP, b=HOSTILE[2])
        out["explain"]["rows"][1]["name"] = MARKUP
        return out

    def test_names_are_text(self):
        with tempfile.TemporaryDirectory() as folder, browser() as page:
            path = page_file.write_page(f"{folder}/hostile.html",
                                        self.hostile(), MARKUP)
            for tab in ("findings", "peaks", "steps", "ledger", "explain", "diff", "text"):
                self.assertEqual(page.open(path, tab), "shown")
                if tab == "peaks":
                    for number in range(page.count("#peak .opener")):
                        page.click("#peak .opener", number)
                self.assertIsNone(page.run("window.hit ?? null"))
                self.assertEqual(page.count(f"#panel-{tab} script, #panel-{tab} img"), 0)
                self.assertNotRegex(page.run(f'document.querySelector("#panel-{tab}").textContent'),
                                    "[\u202a-\u202e\u2066-\u2069\x00\x1b]" if tab != "text" else "\x00")
                self.assertLessEqual(page.run("document.documentElement.scrollWidth"), 1500)
            self.assertEqual(page.console(), [])


Views = needs_browser(Views)
Runs = needs_browser(Runs)
Names = needs_browser(Names)

if __name__ == "__main__":
    unittest.main()
