# Purpose: the part `json` of the reference: the documents with their fields, from the types of the page of HTML.
import re

from sources import markdown, read, table

TYPES = [f"web/src/report/{name}.ts" for name in ("document", "job", "trace_facts", "answers")]
DOCUMENTS = [f"{name}Document" for name in ("Report", "Explain", "Diff", "Tree", "Doctor", "Env")]
INTERFACE = re.compile(r"(?:^/\*\* ([^\n]*) \*/\n)?^export interface (\w+)(?: extends ([\w<>]+))? \{\n(.*?)^\}$",
                       re.M | re.S)
ALIAS = re.compile(r"(?:^/\*\* ([^\n]*) \*/\n)?^export type (\w+) = ([^;]+);$", re.M)
FIELD = re.compile(r"  (\w+)(\??): (.+);(?: +// (.+))?")
NAME = re.compile(r"\b[A-Z]\w+\b")


def interfaces():
    """Returns what each interface extends, its description and its fields; by its name, in the order of the files."""
    found = {}
    for path in TYPES:
        text = read(path)
        for about, name, extends, body in INTERFACE.findall(text):
            fields = [FIELD.fullmatch(line) for line in body.splitlines()]
            if None in fields:
                raise ValueError(f"{path}: {name} has a line that is not `name: type; // text`: "
                                 f"{body.splitlines()[fields.index(None)]!r}")
            found[name] = (about, extends, [field.groups() for field in fields])
    return found


def aliases():
    """Returns the description and the meaning of each named type that is no interface."""
    return {name: (about, meaning) for path in TYPES for about, name, meaning in ALIAS.findall(read(path))}


def kind(text, known):
    """Returns a type as Markdown: code, with links to the types that this page has."""
    parts, at = [], 0
    text = re.sub(r"\s*\|\s*", " | ", text)
    for name in NAME.finditer(text):
        if name[0] in known:
            parts += [code(text[at:name.start()]), f"[`{name[0]}`](#{name[0].lower()})"]
            at = name.end()
    return "".join([*parts, code(text[at:])])


def code(text):
    return f"`{text}`" if text else ""


def section(name, about, extends, fields, known):
    rows = [[f"`{field}`", kind(of, known) + (", optional" if optional else ""), markdown(text or "")]
            for field, optional, of, text in fields]
    base = f"\n\nAlso the fields of {kind(extends, known)}." if extends else ""
    return f"### {name}\n\n{about}{base}\n\n{table(['field', 'type', 'meaning'], rows)}"


def page():
    found, short = interfaces(), aliases()
    known = {*found, *short} - {"Partial", "Record"}
    parts = ["## Documents\n"]
    parts += [section(name, *found[name], known) for name in DOCUMENTS]
    parts.append("## Objects\n")
    parts += [section(name, *found[name], known) for name in found if name not in DOCUMENTS]
    parts += [f"### {name}\n\n{about}\n\n    {' | '.join(meaning.split('|'))}\n"
              for name, (about, meaning) in short.items()]
    return "\n".join(parts)
