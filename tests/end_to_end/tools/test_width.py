"""Purpose: tests how wide a report is, and that none of its widths cuts away a source line."""
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import unittest

import harness

NAME = "a_program_with_quite_a_long_name.py"
LINES = """held = []
def first(): held.append(bytearray(48 << 20))
def second(): held.append(bytearray(32 << 20))
first(); second()
"""


class Width(harness.Case):
    def setUp(self):
        super().setUp()
        folder = os.path.join(self.scratch, "project", "models", "experiments")
        os.makedirs(folder)
        with open(os.path.join(folder, NAME), "w", encoding="utf-8") as file:
            file.write(LINES)
        done, _ = self.trace([sys.executable, os.path.join(folder, NAME)], {"MEMTRACE_QUIET": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)

    def lines(self, *options, **environment):
        done = subprocess.run([harness.COMMAND, "report", self.out, *options], capture_output=True, check=True,
                              env=harness.bare_environment(**environment), stdin=subprocess.DEVNULL, timeout=100)
        return done.stdout.decode().splitlines()

    def on_terminal(self, columns, *options, **environment):
        """Returns the lines of a report on a terminal; 0 columns: it does not know its width."""
        parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        with subprocess.Popen([harness.COMMAND, "report", self.out, *options], stdout=child, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL,
                              env=harness.bare_environment(NO_COLOR="1", **environment)) as running:
            os.close(child)
            out = b""
            while True:
                try:
                    piece = os.read(parent, 65536)
                except OSError:  # the other end is closed
                    break
                if not piece:
                    break
                out += piece
        os.close(parent)
        self.assertEqual(running.returncode, 0)
        return out.decode().replace("\r\n", "\n").splitlines()

    def check(self, lines, columns):
        """Checks the width, and that the table names each user's line whole. Returns the widest line."""
        table = lines[next(i for i, line in enumerate(lines) if line.startswith("Alive at the peak")):]
        for number in (2, 3):
            self.assertTrue(any(f"{NAME}:{number}" in line for line in table), (columns, number, lines))
        self.assertLessEqual(max(map(len, lines)), columns, lines)
        return max(map(len, lines))

    def test_a_pipe_has_100_columns_or_those_of_the_environment(self):
        self.assertGreater(self.check(self.lines(), 100), 80)
        self.assertGreater(self.check(self.lines(COLUMNS="160"), 160), 100)
        self.check(self.lines(COLUMNS="80"), 80)
        for wrong in ("", "wide", "0"):
            self.assertEqual(self.lines(COLUMNS=wrong), self.lines())

    def test_a_terminal_has_its_own_width(self):
        for columns in (80, 100, 140):
            self.check(self.on_terminal(columns, COLUMNS="120"), columns)
            self.check(self.on_terminal(columns, "--all"), columns)
        self.assertEqual(self.on_terminal(0, "--all", COLUMNS="130"), self.lines("--all", COLUMNS="130"))

    def test_a_file_is_as_a_pipe(self):
        path = os.path.join(self.scratch, "report.txt")
        self.lines("-o", path, COLUMNS="90")
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read().splitlines(), self.lines(COLUMNS="90"))


if __name__ == "__main__":
    unittest.main()
