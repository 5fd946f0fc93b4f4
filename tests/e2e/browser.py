# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium for tests of pages, driven by its own protocol over a pipe (no driver, no port).

    with Browser() as browser:
        page = browser.open(Path("page.html"))
        page.evaluate("document.title")
        page.complaints, page.requests
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


PHONE, SCREEN = (390, 844), (1280, 1000)
# What cannot be read of a page: small text, text too near to the colour behind it, columns and texts that are cut off.
UNREADABLE = """(() => {
  const found = [], numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => numbers(colour).slice(0, 3).map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((all, v, i) => all + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor, [, , , alpha] = numbers(colour);
      if (alpha === undefined || alpha > 0.5) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const scrolls = (e) => e && (["auto", "scroll"].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = walker.nextNode());) {
    const e = text.parentElement, style = getComputedStyle(e), words = text.data.trim(), box = e.getBoundingClientRect(), inside = e.closest("svg") !== null;
    if (!words || ["SCRIPT", "STYLE", "TITLE", "title", "OPTION"].includes(e.tagName) || style.visibility === "hidden" || box.width === 0) continue;
    const scale = inside && e.getScreenCTM ? e.getScreenCTM().a : 1, size = parseFloat(style.fontSize) * scale, said = words.slice(0, 40);
    if (size < 11.99) found.push(`${size.toFixed(1)} px: ${said}`);
    const colour = inside ? style.fill : style.color;
    if (/^rgb/.test(colour) && contrast(colour, behind(e)) < 4.5) found.push(`contrast ${contrast(colour, behind(e)).toFixed(1)}: ${said}`);
    if (!scrolls(e) && (box.left < -1 || box.right > innerWidth + 1)) found.push(`cut off: ${said}`);
    if (!inside && e.scrollWidth > e.clientWidth + 1 && style.overflowX === "hidden") found.push(`cut off: ${said}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) found.push(`the page is ${document.documentElement.scrollWidth} px wide`);
  return found;
})()"""


def find():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    def __init__(self, width=1280, height=1000):
        self.width, self.height = width, height

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read, self.out = os.pipe()
        self.incoming, write = os.pipe()
        command = [find(), "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
                   "--disable-dev-shm-usage",
                   "--force-device-scale-factor=1", f"--window-size={self.width},{self.height}",
                   "--user-data-dir=" + self.profile.name, "about:blank"]
        # The browser reads from its descriptor 3 and writes to 4. Debian's sh knows descriptors of one digit.
        shell = ["bash", "-c", f'exec 3<&{read} 4>&{write}; exec "$@"', "bash", *command]
        self.process = subprocess.Popen(shell, pass_fds=(read, write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(read)
        os.close(write)
        self.buffer, self.number, self.events = b"", 0, []
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self.process.wait(60)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.incoming)
        self.profile.cleanup()

    def message(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.incoming], [], [], max(0, deadline - time.monotonic()))
            got = os.read(self.incoming, 1 << 20) if ready else b""
            if not got:
                raise RuntimeError("the browser does not answer")
            self.buffer += got
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, session=None, timeout=300, **parameters):
        self.number += 1
        call = {"id": self.number, "method": method, "params": parameters}
        if session:
            call["sessionId"] = session
        os.write(self.out, json.dumps(call).encode() + b"\0")
        deadline = time.monotonic() + timeout
        while True:
            m = self.message(deadline)
            if "method" in m:
                self.events.append(m)
            elif m["id"] == self.number:
                if "error" in m:
                    raise RuntimeError(f"{method}: {m['error']}")
                return m["result"]

    def open(self, path, dark=False):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, session, path, dark)


class Page:
    def __init__(self, browser, session, path, dark):
        self.browser, self.session, self.url = browser, session, path if isinstance(path, str) else path.resolve().as_uri()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=self.url)
        deadline = time.monotonic() + 300
        while self.evaluate("document.URL + document.readyState") != self.url + "complete":
            assert time.monotonic() < deadline, "the page does not load"
            time.sleep(0.02)

    def close(self):
        self.call("Page.close")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def evaluate(self, expression):
        """A page that is loaded again meanwhile is asked once more."""
        ask = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        try:
            done = self.call("Runtime.evaluate", **ask)
        except RuntimeError as e:
            if "navigated" not in str(e):
                raise
            done = self.call("Runtime.evaluate", **ask)
        if "exceptionDetails" in done:
            raise RuntimeError(f"{expression}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def wheel(self, x, y, by):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=by)

    def drag(self, x0, y0, x1, y1):
        self.mouse("mousePressed", x0, y0, button="left", buttons=1, clickCount=1)
        for i in range(1, 5):
            self.mouse("mouseMoved", x0 + (x1 - x0) * i / 4, y0 + (y1 - y0) * i / 4, button="left", buttons=1)
        self.mouse("mouseReleased", x1, y1, button="left", buttons=0, clickCount=1)

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def resize(self, size):
        """As on a phone or a screen of this size."""
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=size == PHONE)

    def unreadable(self):
        """Lines about what cannot be read now; in an SVG text has the colour of the page behind it."""
        return self.evaluate(UNREADABLE)

    def screenshot(self, path, whole=False):
        self.call("Page.bringToFront")
        done = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(done["data"]))

    def seen(self):
        self.call("Page.bringToFront")  # what is behind draws nothing
        self.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
        return [m for m in self.browser.events if m.get("sessionId") == self.session]

    @property
    def complaints(self):
        """What the console would show in red or yellow."""
        found = []
        for m in self.seen():
            p = m["params"]
            if m["method"] == "Runtime.exceptionThrown":
                found.append(p["exceptionDetails"].get("exception", {}).get("description") or p["exceptionDetails"]["text"])
            elif m["method"] == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
                found.append(str(p["args"]))
            elif m["method"] == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
                found.append(p["entry"]["text"])
        return found

    @property
    def requests(self):
        """Addresses that were asked for, but for the page itself and what is inside it."""
        urls = [m["params"]["request"]["url"] for m in self.seen() if m["method"] == "Network.requestWillBeSent"]
        return [u for u in urls if u.split("#")[0] != self.url and not u.startswith("data:")]
