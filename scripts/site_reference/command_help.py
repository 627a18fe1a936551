# Purpose: the part `commands` of the reference: each command and option, from the --help of the built command.
import re

from sources import ask, markdown, table

ENTRY = re.compile(r"^ {4}(\S.*?)(?: {2,}(\S.*))?$")
MARGIN = " " * 30  # of a text below its name, if the name is long


class Help:
    """What a command prints for --help. Raises ValueError if a line is of another form."""

    def __init__(self, *words):
        self.parts = {}  # by their titles, each a list of [name, text]
        lines = ask(*words, "--help").splitlines()
        self.about, entries = lines[1].strip(), None
        for line in lines[2:]:
            if re.fullmatch(r"  \w+:", line):
                entries = self.parts.setdefault(line.strip(" :"), [])
            elif entries and line.startswith(MARGIN) and not entries[-1][1]:
                entries[-1][1] = line.strip()
            elif entries is not None and (entry := ENTRY.match(line)):
                entries.append([entry[1], entry[2] or ""])
            elif line.strip():
                raise ValueError(f"memtrace {' '.join(words)} --help has a line of an unknown form: {line!r}")

    def entries(self, title):
        return self.parts.get(title, [])


def commands():
    """Returns the names of the commands."""
    found = [name for name, _ in Help().entries("Subcommands")]
    if not found:
        raise ValueError("memtrace --help names no command")
    return found


def page():
    return "\n".join(section(name) for name in commands())


def section(name):
    told = Help(name)
    usage = " ".join([f"memtrace {name}", *(["[OPTION...]"] if told.entries("Options") else []),
                      *(f"[{argument.replace(' ', '')}]" for argument, _ in told.entries("Positionals"))])
    rows = [[f"`{entry}`", markdown(text)]
            for title in ("Positionals", "Options") for entry, text in told.entries(title)]
    if not rows:
        raise ValueError(f"memtrace {name} --help names no option")
    usage += " -- PROGRAM..." if name == "run" else ""
    return f"## memtrace {name}\n\n{markdown(told.about[0].upper() + told.about[1:])}.\n\n    {usage}\n\n" \
           f"{table(['option', 'effect'], rows)}"
