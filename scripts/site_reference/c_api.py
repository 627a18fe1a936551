# Purpose: the part `c` of the reference: the functions of memtrace.h with their comments.
import re

from sources import markdown, read

HEADER = "preload/api/memtrace.h"
CALL = re.compile(r"/\* ((?:[^*]|\*(?!/))*) \*/\nMEMTRACE_CALL\((\w+), \(([^()]*)\),")
QUESTION = re.compile(r"/\* ((?:[^*]|\*(?!/))*) \*/\n(?:extern )?__inline__ .*? int (memtrace_\w+)\((\w+)\)", re.S)


def functions():
    """Returns each function of the header: its prototype and its comment."""
    text = read(HEADER).replace("extern __inline__", "__inline__")
    found = [(f"void memtrace_{name}({arguments})", comment) for comment, name, arguments in CALL.findall(text)]
    found += [(f"int {name}({arguments})", comment) for comment, name, arguments in QUESTION.findall(text)]
    if len(found) != text.count("\nMEMTRACE_CALL(") + text.count("\n__inline__"):
        raise ValueError(f"{HEADER}: a function has no comment, or is not of the known form")
    return found


def unwrapped(comment):
    return re.sub(r"\n \* ?", " ", comment)


def page():
    return "\n".join(f"### {re.search('memtrace_[a-z_]+', prototype)[0]}\n\n```c\n{prototype};\n```\n\n"
                     f"{markdown(unwrapped(comment))}\n" for prototype, comment in functions())
