# Purpose: the part `environment` of the reference: the variables that options set, from the built command.
import json

from command_help import Help
from sources import ask, markdown, table

# A value that an option takes, by the name that --help gives its value.
VALUES = {"DIR": "traces", "SIZE": "1M", "NAMES": "name", "GLOBS": "name", "GRID": "dp=8"}


def variables():
    """Yields each variable with the option of `memtrace env` that sets it, its values and its text."""
    always = set_by()
    for entry, text in Help("env").entries("Options"):
        option, _, values = entry.partition(" ")
        if option in ("--unset", "--format"):
            continue
        value = [] if not values else [VALUES.get(values) or values.split("|")[0]]
        (name, given), = set_by(option, *value) - always
        yield name, option, values or given, text


def set_by(*options):
    """Returns the variables of `memtrace env` with these options, and their values."""
    return set(json.loads(ask("env", "--format", "json", *options))["variables"].items())


def page():
    rows = [[f"`{name}`", f"`{option}`", f"`{values}`", markdown(text)]
            for name, option, values, text in variables()]
    return table(["variable", "option", "value", "meaning (default)"], rows)
