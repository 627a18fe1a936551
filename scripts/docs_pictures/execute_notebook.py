"""Purpose: executes a notebook in the working directory, without a browser.

usage: execute_notebook.py NOTEBOOK > EXECUTED

The Python needs nbclient, ipykernel and what the notebook imports. The result has no times and no version of Python.
"""
import json
import sys


def execute(path, first="", last=""):
    """Returns the executed notebook, as nbformat reads it. `first` and `last` are code of more cells."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.read(path, 4)
    code = [nbformat.v4.new_code_cell(text, id=name) for name, text in (("first", first), ("last", last))]
    book.cells = [*code[:1], *book.cells, *code[1:]] if first or last else book.cells
    metadata = json.loads(json.dumps(book.metadata))
    NotebookClient(book, kernel_name="python3", timeout=300).execute()
    book.metadata = nbformat.from_dict(metadata)  # nbclient adds the version of Python
    for cell in book.cells:
        cell.metadata = nbformat.from_dict({})  # and the times of each cell
    nbformat.validate(book)
    return book


def main():
    import nbformat

    print(nbformat.writes(execute(sys.argv[1])))


if __name__ == "__main__":
    main()
