# Purpose: the part `python` of the reference: what the package memtrace offers, from its types and texts.
import ast
import re

import json_fields
from sources import markdown, read, table

PACKAGE = "python/memtrace"
CALLS = {"marks": ("phase", "step", "label", "snapshot", "is_recording"), "trace": ("open", "Trace"),
         "display": ("Page",), "command": ("CommandError",), "fleet/answer": ("query", "sql", "Answer", "NoAnswer"),
         "fleet/queries": ("QueryError",)}
HEADINGS = {"trace": "Reports", "fleet/answer": "Fleets"}  # before these modules
TYPES = "model"  # all its public classes
DECORATORS = ("property", "cached_property")
OF_JSON = {"Phase": "PhaseRow"}  # the types of the JSON that have another name
WIDEST = 90  # columns of a signature on one line


class Module:
    """The definitions of a module of the package, and its comments."""

    def __init__(self, name):
        self.path = f"{PACKAGE}/{name}.py"
        self.prefix = "memtrace." + name.rpartition("/")[0].replace("/", ".") + ("." if "/" in name else "")
        self.text = read(self.path)
        self.lines = self.text.splitlines()
        self.definitions = {node.name: node for node in ast.parse(self.text).body
                            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")}

    def comment(self, node):
        """Returns the comment behind a line."""
        found = re.search(r"  # (.*)$", self.lines[node.end_lineno - 1])
        return markdown(found[1]) if found else ""

    def entry(self, name):
        """Returns the section of a function or a class."""
        if name not in self.definitions:
            raise ValueError(f"{self.path} has no {name}")
        node = self.definitions[name]
        return self.function(node) if isinstance(node, ast.FunctionDef) else self.klass(node)

    def function(self, node):
        return f"### {node.name}\n\n{shown(f'{self.prefix}{node.name}{signature(node)}')}\n{about(node)}"

    def klass(self, node):
        """Returns a class: how it is made, its fields and properties, its methods."""
        name, methods = node.name, [one for one in node.body if isinstance(one, ast.FunctionDef)]
        made = next((one for one in methods if one.name == "__init__"), None)
        meanings = meanings_of(name)
        fields = [[f"`{one.target.id}`", code(one.annotation), self.comment(one) or meanings.get(one.target.id, "")]
                  for one in node.body if isinstance(one, ast.AnnAssign)]
        fields += [[f"`{one.name}`", code(one.returns), line(one)] for one in methods if is_property(one)]
        out = f"### {name}\n\n"
        if name == "phase":  # which a program calls; the other objects come from memtrace.open
            call = f"memtrace.{name}{signature(made, bound=True)}"
            out += shown(f"with {call}: ...", f"@{call}") + "\n"
        out += about(node)
        if fields:
            out += "\n" + table(["field", "type", "meaning"], fields)
        for one in methods:
            if not one.name.startswith("_") and not is_property(one):
                out += f"\n{shown(f'{name}.{one.name}{signature(one, bound=True)}')}\n{about(one)}"
        return out


def meanings_of(name):
    """Returns what the fields of the same type of the JSON mean."""
    types = json_fields.interfaces()
    name = OF_JSON.get(name, name)
    extended = meanings_of("Levels") if name == "PhaseRow" else {}
    fields = types[name][2] if name in types else []
    return {**extended, **{field: markdown(meaning or "") for field, _, _, meaning in fields}}


def is_property(node):
    return any(isinstance(one, ast.Name) and one.id in DECORATORS for one in node.decorator_list)


def code(annotation):
    return f"`{ast.unparse(annotation)}`" if annotation is not None else ""


def signature(node, bound=False):
    arguments = node.args
    if bound:
        arguments = ast.arguments(**{**{name: getattr(arguments, name) for name in arguments._fields},
                                     "args": arguments.args[1:]})
    returns = "" if bound and node.name == "__init__" else f" -> {ast.unparse(node.returns)}"
    short = f"({ast.unparse(arguments)}){returns}"
    if len(short) <= WIDEST:
        return short
    return "(\n" + "".join(f"    {part},\n" for part in arguments_of(short)) + f"){returns}"


def arguments_of(text):
    """Returns the arguments of "(a: Union[b, c], d) -> e", each as its text."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            return [part.strip() for part in parts]
        if letter == "," and depth == 1:
            parts.append("")
        elif depth > 1 or letter != "(":
            parts[-1] += letter
    raise ValueError(f"no end of the arguments in {text!r}")


def shown(*lines):
    return "```python\n" + "\n".join(lines) + "\n```\n"


def about(node):
    """Returns the text of a definition, paragraph by paragraph."""
    text = ast.get_docstring(node) or ""
    return "\n".join(markdown(part) + "\n" for part in text.split("\n\n")) if text else ""


def line(node):
    return markdown((ast.get_docstring(node) or "").split("\n\n")[0])


def roles():
    return next(ast.literal_eval(node.value) for node in ast.parse(read(f"{PACKAGE}/marks.py")).body
                if isinstance(node, ast.Assign) and node.targets[0].id == "ROLES")


def page():
    parts = ["## In the program\n"]
    for module, names in CALLS.items():
        if module in HEADINGS:
            parts.append(f"## {HEADINGS[module]}\n")
        known = Module(module)
        parts += [known.entry(name) for name in names]
    types = Module(TYPES)
    records = [name for name, node in types.definitions.items()
               if any("dataclass" in ast.unparse(one) for one in node.decorator_list)]
    parts += ["## Types of a report\n", *(types.entry(name) for name in records)]
    parts.append("## Roles\n\n" + ", ".join(f"`{one}`" for one in roles()) + "\n")
    return "\n".join(parts)
