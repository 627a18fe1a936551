# Purpose: a hook of mkdocs. It makes a page from each notebook of the documents, with its cells and plots.
# Runs: inside mkdocs, which scripts/site calls.
"""docs/NAME.ipynb becomes the page NAME.md, and its plots become pictures. Links to the notebook lead to this page, which
offers the notebook itself."""
import base64
import json
import os
import re

from mkdocs.structure.files import File

LINK = re.compile(r"\]\(([\w./-]+)\.ipynb\)")


def on_files(files, config):
    for notebook in [file for file in files if file.src_uri.endswith(".ipynb")]:
        name = notebook.src_uri[:-len(".ipynb")]
        with open(notebook.abs_src_path, encoding="utf-8") as file:
            text, pictures = page_of(json.load(file)["cells"], os.path.basename(name))
        files.append(File.generated(config, f"{name}.md", content=text))
        for number, picture in enumerate(pictures, 1):
            files.append(File.generated(config, f"{name}-{number}.png", content=picture))
    return files


def on_page_markdown(markdown, page, config, files):
    made = files.get_file_from_path(page.file.src_uri[:-len(".md")] + ".ipynb")
    return markdown if made else LINK.sub(r"](\1.md)", markdown)


def page_of(cells, name):
    """Returns the text of the page of a notebook, and its pictures."""
    parts, pictures, heading = [], [], name
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            heading = (re.findall(r"^#+ (.*)$", source, re.M) or [heading])[-1]
            parts.append(source)
            continue
        for output in cell["outputs"]:  # a plot stands before its code, because most readers want it alone
            if "image/png" in output.get("data", {}):
                pictures.append(base64.b64decode(output["data"]["image/png"]))
                parts.append(f"![{heading}]({name}-{len(pictures)}.png)")
            elif "text" in output:
                parts.append(f"```\n{''.join(output['text'])}```")
        parts.append(f"```python\n{source}\n```")
    parts.insert(1, f"[Download the notebook]({name}.ipynb)")
    return "\n\n".join(parts) + "\n", pictures
