# Purpose: the part `environment` of the reference: the variables that options set, from the built command.
import json

from command_help import Help
from sources import ask, markdown, table

# A value that an option takes, by the name that --help gives its value.
VALUES = {"DIR": "traces", "SIZE": "1M", "NAMES": "name", "GLOBS": "name"}


def variables():
    """Yields each variable with the option of `memtrace env` that sets it, its values and its text."""
    always = set_by()
    for entry, text in Help("env").entries("Options"):
        option, _, values = entry.partition(" ")
        if option in ("--unset", "--format"):
            continue
        value = [] if not values else [VALUES.get(values) or values.split("|")[0]]
        name, = set_by(option, *value) - always
        yield name, option, values, text


def set_by(*options):
    """Returns the variables of `memtrace env` with these options."""
    return set(json.loads(ask("env", "--format", "json", *options))["variables"])


def page():
    rows = [[f"`{name}`", f"`{option}`", f"`{values}`" if values else "`1`", markdown(text)]
            for name, option, values, text in variables()]
    return table(["variable", "option", "value", "meaning (default)"], rows)
