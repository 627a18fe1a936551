"""Purpose: assembles a page of memtrace's HTML report from documents, without the analyzer, for tests of its views."""

import base64
import gzip
import hashlib
import html
import json
import pathlib
import struct
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
FORMATS = {"u8": "B", "u32": "I", "i64": "q"}
BANDS = ["parameter", "gradient", "optimizer state", "activation", "temporary", "communication", "input", "runtime",
         "context", "cache", "unattributed"]
NO_COLUMNS = {
    "tree.parent": "u32", "tree.function": "u32", "tree.file": "u32", "tree.line": "u32", "tree.flags": "u8",
    "group.leaf": "u32", "group.role": "u8", "group.kind": "u8", "group.flags": "u8", "group.band": "u8",
    "group.phase": "u32", "group.name": "u32", "class.group": "u32", "class.memory": "u8", "class.given": "i64",
    "class.tensor": "i64", "row.time": "i64", "row.class": "u32", "row.ref": "u32", "row.small": "i64",
    "set.class": "u32", "set.count": "u32", "bin.start": "i64", "bin.end": "i64", "bin.births": "u32",
    "bin.events": "u32", "phase.path": "u32", "phase.step": "i64", "phase.start": "i64", "phase.end": "i64",
    "phase.depth": "u8",
}


def column(kind, values, delta=False):
    """Returns the directory's entry and the bytes of one numeric section, in byte planes."""
    size = struct.calcsize("<" + FORMATS[kind])
    if delta:
        before = [0, *values[:-1]]
        values = [value - last for value, last in zip(values, before)]
    raw = struct.pack(f"<{len(values)}{FORMATS[kind]}", *values)
    planes = b"".join(raw[plane::size] for plane in range(size))
    entry = {"type": kind, "count": len(values), "bytes": len(raw)}
    return ({**entry, "delta": True} if delta else entry), planes


def text(value):
    raw = json.dumps(value).encode()
    return {"type": "utf8", "count": len(raw), "bytes": len(raw)}, raw


def block(sections):
    directory, body, offset = {}, [], 0
    for name, (entry, raw) in sections.items():
        directory[name] = {**entry, "offset": offset}
        body.append(raw)
        offset += len(raw)
    head = json.dumps({"format": "memtrace.page/1", "sections": directory}).encode()
    return struct.pack("<I", len(head)) + head + b"".join(body)


def lanes_of(process):
    peaks = {(peak["memory"], peak["measure"]): peak for peak in process["peaks"]}
    lanes = [{"memory": memory, "measure": measure, "leads": False,
              "peak": {"bytes": peak["bytes"], "t": int((peak["t"] or 0) * 1e9)}}
             for (memory, measure), peak in peaks.items() if measure in ("live", "tensor") and peak["bytes"] > 0]
    host = [lane for lane in lanes if lane["memory"] == "host"]
    leads = max(host or lanes, key=lambda lane: (lane["measure"] == "tensor", lane["peak"]["bytes"]), default=None)
    if leads is not None:
        leads["leads"] = True
    return lanes


def process_info(process, index):
    lanes = lanes_of(process)
    at = lanes[0]["peak"]["t"] if lanes else 0
    marks = [{"t": at + number, "kind": "finding", "text": finding["title"], "finding": number, "lane": 0}
             for number, finding in enumerate(process["findings"])]
    events = process["trace"]["events"]
    return {"report": index, "name": f"pid {process['pid']}", "end": int(process["duration"] * 1e9), "events": events,
            "rows": 0, "lanes": lanes, "lines": [], "limits": [], "marks": marks, "windows": [], "keyframes": [],
            "paths": [], "phases_from": 0}


def run_of(side):
    peak = {"memory": "host", "measure": "live", "bytes": side["bytes"], "t": 0.5}
    return {"pid": side["pid"], "peaks": [peak], "findings": [], "phases": [], "duration": 1, "trace": {"events": 0}}


def steps_of(process, lanes):
    """Returns the columns of the steps that the document has."""
    numbers = sorted({row["step"] for row in process["phases"] if isinstance(row["step"], int)})
    end = int(process["duration"] * 1e9)
    starts = [end * (1 + i) // (2 + len(numbers)) for i in range(len(numbers))]
    out = {"step.number": column("i64", numbers), "step.start": column("i64", starts, True),
           "step.end": column("i64", [start + end // (3 + len(numbers)) for start in starts])}
    for index, lane in enumerate(lanes):
        def peak(row, lane=lane):
            levels = row.get("tensor") if lane["measure"] == "tensor" else row
            return (levels or {}).get("peak_live") or 0
        rows = [[peak(row) for row in process["phases"] if row["step"] == number and row["memory"] == lane["memory"]]
                for number in numbers]
        out[f"step.lane{index}"] = column("i64", [max(row, default=0) for row in rows])
    return out


def page_data(documents):
    """Returns the bytes of the block: the documents as they are, and a run without single events."""
    report = documents.get("report")
    # A comparison has no report: its two runs stand in for processes with one lane each.
    processes = report["processes"] if report else [run_of(side) for side in documents["diff"]["sides"]]
    infos = [process_info(process, index if report else None) for index, process in enumerate(processes)]
    page = {"version": "0.0.0", "mode": "report" if report else "diff", "roles": ["unknown"], "kinds": ["none"], "bands": BANDS,
            "processes": infos}
    every = {"report": None, "postmortem": None, "explain": None, "first_vs_steady": None, "diff": None}
    sections = {"documents": text({**every, **documents}), "page": text(page),
                "strings.offset": column("u32", [0, 0]), "strings.bytes": column("u8", [])}
    for index, (process, info) in enumerate(zip(processes, infos)):
        of = {name: column(kind, []) for name, kind in NO_COLUMNS.items()}
        of["set.start"] = column("u32", [0])
        of["tree.parent"], of["tree.function"] = column("u32", [0]), column("u32", [0])
        of["tree.file"], of["tree.line"] = column("u32", [0]), column("u32", [0])
        of["tree.flags"] = column("u8", [0])
        for lane in range(len(info["lanes"])):
            for part in ("max", "at", "min", "last", "bands"):
                of[f"lane{lane}.{part}"] = column("i64", [])
        of.update(steps_of(process, info["lanes"]))
        sections.update({f"p{index}.{name}": value for name, value in of.items()})
    return block(sections)


def built():
    """Returns the script and the style of the page, as the build bundles them."""
    def bundle(*arguments):
        return subprocess.run(["esbuild", "--bundle", "--minify", *arguments], check=True, capture_output=True,
                              cwd=ROOT).stdout.decode()
    script = bundle("web/src/main.ts", "--format=iife", "--target=es2020")
    return script.strip(), bundle("web/theme/page.css").strip()


def sha256(part):
    return "sha256-" + base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()


def write_page(path, documents, report_text="", data=None):
    """Writes a page to `path`. `data`: the block, if it is not that of the documents."""
    script, style = built()
    packed = base64.b64encode(gzip.compress(page_data(documents) if data is None else data)).decode()
    policy = f"default-src 'none'; script-src '{sha256(script)}'; style-src '{sha256(style)}'; img-src data: blob:"
    pathlib.Path(path).write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><title>memtrace</title><style>{style}</style></head>'
        f'<body><div id="page"></div><pre id="text">{html.escape(report_text)}</pre>'
        f'<script type="application/octet-stream" id="data">{packed}</script><script>{script}</script></body></html>',
        encoding="utf-8")
    return path
