"""Purpose: runs kernels of Jupyter for test_notebook, and prints what they answered as JSON.

usage: notebook_kernel.py run KERNEL NOTEBOOK      a file of cells: [text, ...]; prints each cell's outputs
       notebook_kernel.py control KERNEL           interrupts and restarts a kernel
"""
import json
import queue
import sys

from jupyter_client.manager import KernelManager


def run(kernel, path):
    import nbformat
    from nbclient import NotebookClient

    with open(path, encoding="utf-8") as file:
        cells = [nbformat.v4.new_code_cell(text) for text in json.load(file)]
    book = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(book, kernel_name=kernel, timeout=300, allow_errors=True).execute()
    nbformat.validate(book)
    print(json.dumps([cell.outputs for cell in book.cells]))


class Kernel:
    def __init__(self, name):
        self.manager = KernelManager(kernel_name=name)
        self.manager.start_kernel()
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=120)

    def execute(self, code, interrupt=False):
        """Returns the status of a cell, and what it printed."""
        request = self.client.execute(code)
        printed = ""
        while True:
            message = self.client.get_iopub_msg(timeout=120)
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["msg_type"] == "stream":
                printed += message["content"]["text"]
                if interrupt and "waits" in printed:
                    self.manager.interrupt_kernel()
                    interrupt = False
            elif message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                break
        while True:
            reply = self.client.get_shell_msg(timeout=120)
            if reply["parent_header"].get("msg_id") == request:
                return [reply["content"].get("ename", reply["content"]["status"]), printed]

    def restart(self):
        self.manager.restart_kernel()
        self.client.wait_for_ready(timeout=120)


def control(name):
    kernel = Kernel(name)
    answers = [
        kernel.execute("import time, os\nx = 1\nprint('waits', flush=True)\ntime.sleep(100)", interrupt=True),
        kernel.execute("print(x)"),
        kernel.execute("1 / 0"),
        kernel.execute("import subprocess, sys\n"
                       "print(subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True).stdout)"),
        kernel.execute("print(os.getppid() == int(os.environ['JPY_PARENT_PID']))"),
    ]
    kernel.restart()
    answers.append(kernel.execute("x"))
    answers.append(kernel.execute("print(2)"))
    try:
        kernel.client.get_iopub_msg(timeout=0.2)
    except queue.Empty:
        pass
    kernel.client.stop_channels()
    kernel.manager.shutdown_kernel()
    print(json.dumps(answers))


if __name__ == "__main__":
    {"run": run, "control": control}[sys.argv[1]](*sys.argv[2:])
