"""Purpose: compares one traced run of program.py with what PyTorch and CPython say of it.

Each check returns a cell of the table, and a list of what is wrong.
"""
import itertools
import os

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.py")
STEPS = 4
EACH_STEP = ("forward", "loss", "backward", "recompute", "step", "zero_grad")
# Phases whose first and last instant are those of the program's mark. The others begin or end some blocks apart: `loss`
# ends after backward() has made its first gradient, `recompute` begins after the checkpoint has stored random states.
HARMLESS = ("python-library", "python-path")  # notes
SAME_EDGES = ("forward", "step", "zero_grad", "save")


def line_of(name):
    with open(PROGRAM, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if line.rstrip().endswith("# LINE: " + name))


class Run:
    """What the runs of one combination gave.

    truth: levels by phase, of the profiled run (truth.read)
    said: what the program printed under memtrace
    report: the first process of the report of steps 0 to 3; whole: of the report without options
    death: the first process of the post-mortem of the killed run
    notes: of the trace
    bare, traced: completed processes
    """

    def __init__(self, **given):
        self.__dict__.update(given)

    def row(self, path, step):
        rows = [row for row in (self.report if step is not None else self.whole)["phases"]
                if (row["memory"], row["path"], row["step"]) == ("host", list(path), step)]
        return rows[0] if len(rows) == 1 else None

    def rows(self):
        """Yields name, occurrence and row of each phase that the program went through; the row may be None."""
        yield "load", 0, self.row(["load"], None)
        yield "data", 0, self.row(["load", "data"], None)
        for step, name in itertools.product(range(STEPS), EACH_STEP):
            yield name, step, self.row(["backward", name] if name == "recompute" else [name], step)
        for step in range(STEPS - 1):  # the batch of the next step
            yield "data", step + 1, self.row(["data"], step)
        yield "eval", 0, self.row(["eval"], STEPS - 1)
        yield "save", 0, self.row(["save"], STEPS - 1)

    def peak(self, measure):
        [peak] = [peak for peak in self.whole["peaks"] if (peak["memory"], peak["measure"]) == ("host", measure)]
        return peak


def python_frames(row):
    site = row["site"]
    return [(frame["file"], frame["function"], frame["line"]) for frame in site["frames"]
            if frame["lang"] == "python"] if site else []


def passes(row, name):
    """True if the block was allocated below this line of the program."""
    return (PROGRAM, line_of(name)) in [(file, line) for file, _, line in python_frames(row)]


def total(rows):
    return sum(row["bytes"] for row in rows)


def phases(run):
    wrong = []
    for name, at, row in run.rows():
        if row is None or row["count"] != 1:
            wrong.append(f"{name} {at}: {'no row' if row is None else str(row['count']) + ' times'}")
    marked = sum(len(occurrences) for occurrences in run.truth.values())
    found = sum(row["count"] for _, _, row in run.rows() if row is not None)
    if found != marked:
        wrong.append(f"{found} phases, and the program marked {marked}")
    return f"{found} of {marked}", wrong


def tensors(run):
    """The levels of tensor bytes: the peak of each phase, and where the edges are the same, entry and exit."""
    differences, wrong = [], []
    for name, at, row in run.rows():
        if row is None:
            continue
        entry, peak, leave = run.truth[name][at]
        pairs = [("peak", row["tensor"]["peak_live"], peak)]
        if name in SAME_EDGES:
            pairs += [("entry", row["tensor"]["entry_live"], entry), ("exit", row["tensor"]["exit_live"], leave)]
        for what, found, wanted in pairs:
            differences.append(abs(found - wanted))
            if found != wanted:
                wrong.append(f"{what} of {name} {at}: {found}, PyTorch says {wanted}")
    return f"{max(differences, default=0)} in {len(differences)} levels", wrong


def roles(run):
    """By role at the peak, in the first update. Activations: what the forward of step 2 left, alive in its loss."""
    held = {}
    for row in run.peak("tensor")["at_peak"]:
        held[row["role"]] = held.get(row["role"], 0) + row["bytes"]
    said = run.said["roles"]
    wanted = {role: said[role] for role in ("parameter", "buffer", "gradient")}
    wanted["optimizer_state"] = said["optimizer_state"] + said["counts of steps"]
    loss = run.row(["loss"], 2)
    held["activation"] = total(row for row in loss["tensor"]["at_peak"]
                               if (row["role"], row["born_phase"]) == ("activation", "forward")) if loss else 0
    entry, _, leave = run.truth["forward"][2]
    wanted["activation"] = leave - entry
    wrong = [f"{role}: {held.get(role, 0)}, PyTorch says {size}" for role, size in wanted.items()
             if held.get(role, 0) != size]
    return str(max(abs(held.get(role, 0) - size) for role, size in wanted.items())), wrong


def lines(run):
    """At the peak, the update's line holds what the update made. Each gradient has the line of the forward call."""
    peak = run.peak("tensor")
    entry, level, _ = run.truth["step"][0]
    made = total(row for row in peak["at_peak"] if passes(row, "update"))
    gradients = total(row for row in peak["at_peak"]
                      if row["role"] == "gradient" and passes(row, "forward"))
    off = max(abs(made - (level - entry)), abs(gradients - run.said["roles"]["gradient"]))
    wrong = []
    if (peak["phase"], peak["step"]) != ("step", 0):
        wrong.append(f"the peak is in {peak['phase']} {peak['step']}, and not in the update of step 0")
    if off:
        wrong.append(f"the update's line has {made} bytes, not {level - entry}; the forward call's line has {gradients} "
                     f"bytes of gradients, not {run.said['roles']['gradient']}")
    if "foreach-temporaries" not in [finding["id"] for finding in run.whole["findings"]]:
        wrong.append("no finding foreach-temporaries")
    return str(off), wrong


def frames(run):
    """Each block that the program held has the chain of frames that CPython gave: file, function and line."""
    rows = {row["asked"]: row for row in run.peak("live")["at_peak"] if row["blocks"] == 1}
    wrong = []
    for size, chain in run.said["frames"]:
        row = rows.get(size + 1)  # a bytearray ends with a NUL
        wanted = [tuple(frame) for frame in chain]
        found = python_frames(row) if row else None
        if found != wanted:
            first = next((pair for pair in itertools.zip_longest(found or [], wanted) if pair[0] != pair[1]), None)
            wrong.append(f"the block of {size} bytes: found and true frame {first}")
    return f"{len(run.said['frames']) - len(wrong)} of {len(run.said['frames'])}", wrong


def killed(run):
    """The run that killed itself after the loss of step 2. Nobody says why, so the cause must be unknown."""
    end, death = run.death["end"], run.death["death"]
    wanted = {"how": "unknown", "code": 9, "phase": "loss", "step": 2, "tensor": run.truth["loss"][2][2]}
    found = {"how": end["how"], "code": end["code"], "phase": death["phase"], "step": death["step"],
             "tensor": death["tensor"]}
    wrong = [f"{key}: {found[key]}, not {value}" for key, value in wanted.items() if found[key] != value]
    return str(abs(found["tensor"] - wanted["tensor"])), wrong


def unseen(run):
    """stdout has the names of all modules that the program imported."""
    wrong = []
    for what in ("returncode", "stdout", "stderr"):
        bare, traced = getattr(run.bare, what), getattr(run.traced, what)
        if bare != traced:
            wrong.append(f"{what} is {str(traced)[-300:]!r}, bare {str(bare)[-300:]!r}")
    return "differs" if wrong else "same", wrong


def complete(run):
    """No event was lost, and each patch of PyTorch found what it patches: the trace has a note of each that did not."""
    lost = run.whole["trace"]["lost_reasons"]
    wrong = [f"lost events: {lost}"] if lost or run.whole["trace"]["lost_events"] else []
    wrong += [note for note in run.notes if note.startswith("python") and note.partition("=")[0] not in HARMLESS]
    return "complete" if not wrong else "lacks some", wrong


CHECKS = {"phases": phases, "tensors, bytes off": tensors, "roles, bytes off": roles, "lines, bytes off": lines,
          "frames": frames, "killed, bytes off": killed, "output": unseen,
          "trace": complete}
