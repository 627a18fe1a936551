# Purpose: a hook of mkdocs. It adds a page for each file of the repository that the documents link to.
# Runs: inside mkdocs, which scripts/site calls.
"""The documents link to sources by relative paths, as a reader of the repository needs them. On the site, each of these
files gets a page, so that no link is broken or leaves the site. A folder of documents gets a page that lists them. A
link to another folder becomes plain text."""
import os
import posixpath
import re

from mkdocs.structure.files import File

LINK = re.compile(r"\[((?:[^\[\]`]|`[^`]*`)*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
LANGUAGES = {".py": "python", ".cpp": "cpp", ".h": "cpp", ".c": "c", ".sh": "bash", ".ts": "typescript"}
FOLDER = "source"


def on_files(files, config):
    root = os.path.dirname(config.config_file_path)
    for page in files.documentation_pages():
        for link in LINK.finditer(page.content_string):
            path = outside(page.src_uri, link[2], config)
            if path and os.path.isfile(os.path.join(root, path)) and not files.get_file_from_path(uri_of(path)):
                files.append(File.generated(config, uri_of(path), content=content(root, path)))
    for folder in sorted(set(folders(files, config))):
        listed = contents_of(os.path.join(config.docs_dir, folder))
        files.append(File.generated(config, f"{folder}/index.md", content=listed))
    for page in files.documentation_pages():
        if page.src_uri.startswith((FOLDER + "/", "decisions/")) and page.src_uri != "decisions/index.md":
            page.inclusion = page.inclusion.NOT_IN_NAV
    return files


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri

    def of_site(link):
        path = outside(here, link[2], config)
        if path is None:
            return of_documents(link)
        if not files.get_file_from_path(uri_of(path)):
            return link[1]
        return f"[{link[1]}]({posixpath.relpath(uri_of(path), posixpath.dirname(here) or '.')})"

    def of_documents(link):
        if not os.path.isdir(os.path.join(config.docs_dir, posixpath.dirname(here), link[2])):
            return link[0]
        index = posixpath.join(link[2], "index.md")
        known = files.get_file_from_path(posixpath.normpath(posixpath.join(posixpath.dirname(here), index)))
        return f"[{link[1]}]({index})" if known else link[1]

    return markdown if here.startswith(FOLDER + "/") else LINK.sub(of_site, markdown)


def folders(files, config):
    """Yields each folder with documents that a document links to."""
    for page in list(files.documentation_pages()):
        for link in LINK.finditer(page.content_string):
            folder = posixpath.normpath(posixpath.join(posixpath.dirname(page.src_uri), link[2]))
            place = os.path.join(config.docs_dir, folder)
            if not folder.startswith("..") and os.path.isdir(place) and documents_in(place):
                yield folder


def documents_in(place):
    return sorted(name for name in os.listdir(place) if name.endswith(".md"))


def contents_of(place):
    """Returns a page that lists the documents of a folder by their titles."""
    lines = []
    for name in documents_in(place):
        with open(os.path.join(place, name), encoding="utf-8") as file:
            lines.append(f"- [{file.readline().lstrip('# ').strip()}]({name})")
    return f"# {os.path.basename(place).capitalize()}\n\n" + "\n".join(lines) + "\n"


def outside(page, target, config):
    """Returns the path in the repository of a link that leaves the documents, or None."""
    documents = os.path.basename(config.docs_dir)
    path = posixpath.normpath(posixpath.join(documents, posixpath.dirname(page), target))
    return None if path.startswith((documents + "/", "..")) or path == documents else path


def uri_of(path):
    return f"{FOLDER}/{path}.md"


def content(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        text = file.read()
    if path.endswith(".md"):
        return LINK.sub(r"\1", text)
    return f"# {path}\n\n~~~~~~ {LANGUAGES.get(os.path.splitext(path)[1], 'text')}\n{text}\n~~~~~~\n"
