"""Purpose: takes pictures of pages in a headless Chromium, which reaches no other machine."""
import base64
import contextlib
import os
import shutil
import tempfile
import time

import png

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

WIDTH = 1000  # pixels. A page of the docs is about 830 wide, so its text stays legible.
PATIENCE = 120  # seconds
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--force-device-scale-factor=1", "--lang=en",
             "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")

# Only the fonts of Debian's fonts-dejavu-core, so that pictures of two machines have the same letters.
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts/truetype/dejavu</dir>
  <cachedir>{cache}</cachedir>
  <selectfont><rejectfont><glob>*Oblique*</glob><glob>*Italic*</glob><glob>*Condensed*</glob><glob>*Light*</glob>
  </rejectfont></selectfont>
  <alias><family>serif</family><prefer><family>DejaVu Serif</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
  <match><edit name="family" mode="append_last"><string>DejaVu Sans</string></edit></match>
</fontconfig>
"""

# The text in a rectangle, a line for each part. Parts that Perfetto shows twice and names of its icons are left out.
TEXTS = """
const {x, y, width, height} = arguments[0], lines = [];
const unread = 'option, script, style, .pf-icon, .pf-middle-ellipsis-left, .pf-middle-ellipsis-right';
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const add = (element, text) => {
  const {left, top, width: wide, height: high} = element.getBoundingClientRect();
  if (wide < 2 || high < 2 || left < x || top < y || left >= x + width || top >= y + height) return;
  if (element.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) lines.push(text);
};
for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
  const text = node.data.replace(/\\s+/g, ' ').trim(), parent = node.parentElement;
  if (text !== '' && !parent.closest(unread)) add(parent, text);
}
for (const one of document.querySelectorAll('select')) add(one, one.selectedOptions[0]?.textContent ?? '');
for (const one of document.querySelectorAll('input')) add(one, one.value || one.placeholder);
return lines.join('\\n');
"""

# A picture with a palette: the 256 most frequent colours, and for each other colour the nearest of them.
INDEXED = """
const [source, done] = arguments, image = new Image();
image.onload = () => {
  const canvas = document.createElement('canvas');
  canvas.width = image.width;
  canvas.height = image.height;
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const colours = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
  const counts = new Map();
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const kept = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || a - b).slice(0, 256);
  const part = (colour, shift) => colour >>> shift & 255;
  const distance = (a, b) => [0, 8, 16].reduce((sum, shift) => sum + (part(a, shift) - part(b, shift)) ** 2, 0);
  const index = new Map(kept.map((colour, number) => [colour, number]));
  for (const colour of counts.keys()) {
    if (index.has(colour)) continue;
    let best = 0;
    for (let i = 1; i < kept.length; ++i)
      if (distance(colour, kept[i]) < distance(colour, kept[best])) best = i;
    index.set(colour, best);
  }
  let pixels = '';
  for (let i = 0; i < colours.length; i += 8192)
    pixels += String.fromCharCode(...[...colours.subarray(i, i + 8192)].map(colour => index.get(colour)));
  done({width: image.width, pixels: btoa(pixels),
        palette: kept.flatMap(colour => [part(colour, 0), part(colour, 8), part(colour, 16)])});
};
image.src = 'data:image/png;base64,' + source;
"""


def missing():
    """Returns the names of what has to be installed before a picture can be taken."""
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    return [name for name, there in {**programs, "selenium": webdriver}.items() if not there]


@contextlib.contextmanager
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder:
        for argument in (*ARGUMENTS, f"--user-data-dir={folder}/profile"):
            options.add_argument(argument)
        fonts = os.path.join(folder, "fonts.conf")
        with open(fonts, "w", encoding="utf-8") as file:
            file.write(FONTS.format(cache=f"{folder}/fonts"))
        service = Service(shutil.which("chromedriver"), env={**os.environ, "FONTCONFIG_FILE": fonts})
        driver = webdriver.Chrome(service=service, options=options)
        try:
            driver.set_script_timeout(PATIENCE)
            driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
            yield Browser(driver)
        finally:
            driver.quit()


class Browser:
    def __init__(self, driver):
        self.driver = driver
        self.theme("light")

    def theme(self, name):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": "prefers-color-scheme", "value": name}]})

    def open(self, address, ready, height):
        """Opens a page in a window of this height. Waits until the expression `ready` is true and nothing changes."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.driver.get("about:blank")
        self.driver.get(address)
        self.settle(ready)

    def run(self, expression, *arguments):
        return self.driver.execute_script(f"return {expression}", *arguments)

    def wait(self, expression):
        end = time.monotonic() + PATIENCE
        while not self.run(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(0.05)

    def settle(self, ready):
        """Waits until the page is ready and three pictures of the window are equal: nothing is drawn any more."""
        seen, end = [], time.monotonic() + PATIENCE
        while len(seen) < 3:
            self.wait(ready)
            now = self.shot()
            seen = seen + [now] if now in seen else [now]
            if time.monotonic() > end:
                raise TimeoutError("the page never stops changing")
            time.sleep(0.3)

    def shot(self, **more):
        """Returns a PNG in base64."""
        return self.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", **more})["data"]

    def top(self, selector):
        return self.run("document.querySelector(arguments[0]).getBoundingClientRect().top", selector)

    def bottom(self, selector):
        return self.run("document.querySelector(arguments[0]).getBoundingClientRect().bottom", selector)

    def save(self, path, top, bottom):
        """Writes the picture of the window between two heights, with its text."""
        clip = {"x": 0, "y": int(top), "width": WIDTH, "height": int(bottom - top)}
        shot = self.shot(clip={**clip, "scale": 1})
        text = self.driver.execute_script(TEXTS, clip)
        self.driver.get("about:blank")
        picture = self.driver.execute_async_script(INDEXED, shot)
        png.write(path, picture["width"], bytes(picture["palette"]), base64.b64decode(picture["pixels"]), text)
