# Purpose: reading the marks that the probe saw, and running checks one after the other.
import probe


def phases(keep=()):
    """The marks since the last call: "forward(" and ")forward"; parameters and notes only where asked for."""
    out = []
    for line in probe.log():
        word, _, rest = line.partition(" ")
        if word == "begin":
            out.append(rest + "(")
        elif word == "end":
            out.append(")" + rest)
        elif word in keep or word in ("unbalanced", "note") and not rest.startswith("optimizer="):
            out.append(line)
    return out


def expect(*wanted, keep=()):
    got = phases(keep)
    assert got == list(wanted), "\n got %s\nwant %s" % (got, list(wanted))


FORWARD = ["forward(", ")forward"]
BACKWARD = ["backward(", ")backward"]
STEP = ["step(", ")step"]


def run(*checks):
    assert probe.log() == [], "importing marks something"
    for check in checks:
        probe.clear()
        check()
        assert probe.depth() == 0, (check.__name__, probe.depth())
        print("ok", check.__name__)
