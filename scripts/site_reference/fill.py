# Purpose: a hook of mkdocs. It fills the pages of docs/reference with what they are about.
# Runs: inside mkdocs, which scripts/site calls.
"""A page of docs/reference has a line such as `<!-- scripts/site: commands -->`. On the site, a list takes its place,
made from the sources or from the built command. So the tree has each description once."""
import re

from mkdocs.exceptions import PluginError

import c_api
import command_help
import environment
import json_fields
import python_api

MARK = re.compile(r"^<!-- scripts/site: (\w+) -->$", re.M)
PARTS = {"commands": command_help.page, "environment": environment.page, "json": json_fields.page,
         "python": python_api.page, "c": c_api.page}


def on_page_markdown(markdown, page, config, files):
    def part(mark):
        if mark[1] not in PARTS:
            raise PluginError(f"{page.file.src_uri}: no part {mark[1]!r}; there are {', '.join(PARTS)}")
        return PARTS[mark[1]]()

    try:
        return MARK.sub(part, markdown)
    except (OSError, ValueError) as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from error
