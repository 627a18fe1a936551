"""Purpose: drives a headless Chromium in tests of the page. It resolves no name."""

import base64
import contextlib
import json
import pathlib
import shutil
import time
import unittest

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
missing = [name for name, there in (("chromium", CHROMIUM), ("chromedriver", DRIVER), ("selenium", webdriver),
                                    ("esbuild", shutil.which("esbuild"))) if not there]
needs_browser = unittest.skipIf(missing, "not installed: " + ", ".join(missing))


@contextlib.contextmanager
def browser(width=1500, height=1100):
    options = Options()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", f"--window-size={width},{height}", "--force-device-scale-factor=1",
                     "--no-sandbox", "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(service=Service(DRIVER), options=options)
    try:
        yield Page(driver)
    finally:
        driver.quit()


class Page:
    """What tests ask of a page: by CSS selectors, through the driver."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path, tab=None, **state):
        """Opens a page at a tab and waits until it is ready."""
        fragment = "&".join(["v=1"] + [f"{key}={value}" for key, value in
                                       ([("tab", tab)] if tab else []) + list(state.items())])
        self.driver.get("about:blank")
        self.driver.get(f"{pathlib.Path(path).as_uri()}#{fragment}")
        self.wait("document.documentElement.dataset.ready")
        return self.run("document.documentElement.dataset.ready")

    def run(self, expression, *arguments):
        return self.driver.execute_script(f"return {expression}", *arguments)

    def wait(self, expression, seconds=20):
        """Returns the value of the expression once it is true."""
        end = time.monotonic() + seconds
        while not (value := self.run(expression)):
            if time.monotonic() > end:
                raise AssertionError(f"never true: {expression}")
            time.sleep(0.02)
        return value

    def texts(self, selector):
        return self.run("[...document.querySelectorAll(arguments[0])].map((one) => one.textContent.trim())", selector)

    def text(self, selector):
        return " ".join(self.run("document.querySelector(arguments[0]).innerText", selector).split())

    def count(self, selector):
        return self.run("document.querySelectorAll(arguments[0]).length", selector)

    def click(self, selector, number=0):
        self.run("document.querySelectorAll(arguments[0])[arguments[1]].click()", selector, number)

    def bytes(self, selector):
        """Returns the exact bytes of the sizes that the selector names."""
        return self.run("[...document.querySelectorAll(arguments[0])].map((one) => Number(one.dataset.bytes))", selector)

    def choose(self, selector, value):
        """Chooses an option of a <select>."""
        self.run("""((one) => { one.value = arguments[1]; one.dispatchEvent(new Event("change")); })(
          document.querySelector(arguments[0]))""", selector, value)

    def table(self, selector):
        """Returns the rows of a table's body as dicts by heading: the exact bytes where a cell has them."""
        return self.run("""((table) => {
          const heads = [...table.tHead.rows[0].cells].map((one) => one.querySelector("button")?.textContent ?? "");
          return [...table.tBodies[0].rows].filter((row) => !row.classList.contains("across")).map((row) =>
            Object.fromEntries([...row.cells].map((cell, i) => [heads[i], cell.dataset.bytes !== undefined ?
              Number(cell.dataset.bytes) : cell.textContent.trim()])));
        })(document.querySelector(arguments[0]))""", selector)

    def footer(self, selector):
        """Returns the bytes in the rows of a table's foot, by the title of the row."""
        return self.run("""Object.fromEntries([...document.querySelector(arguments[0]).tFoot.rows].map((row) =>
          [row.cells[0].textContent, [...row.cells].filter((one) => one.dataset.bytes !== undefined)
            .map((one) => Number(one.dataset.bytes))]))""", selector)

    def media(self, **features):
        """Emulates media features: media(prefers_color_scheme="dark")."""
        listed = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": listed})

    def size(self, width, height):
        """Sets the size of the window in CSS pixels; 750 of 1500 is a zoom of 200 %."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def tree(self):
        """Returns the nodes of the accessibility tree as (role, name)."""
        nodes = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes
                if not node.get("ignored") and "role" in node]

    def console(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Returns the addresses that the page asked for, besides itself and data in the page."""
        asked = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.append(message["params"]["request"]["url"])
        return [url for url in asked if not url.startswith(("file:", "blob:", "data:", "about:"))]

    def pdf(self):
        return base64.b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
