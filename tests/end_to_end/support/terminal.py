"""Purpose: a terminal of tmux, in which a test types and reads the screen."""
import os
import re
import shutil
import subprocess
import time

import harness

TMUX = shutil.which("tmux")
PROMPT = r"(?m)^\$\s*\Z"  # the shell waits for a command


class Terminal:
    """A terminal of 80 x 24, in which a shell runs one command after the other."""

    def __init__(self, case, columns=80, rows=24, name="tmux"):
        self.case = case
        self.socket = os.path.join(case.scratch, name)
        case.addCleanup(self.tmux, "kill-server", check=False)
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), "env", "PS1=$ ", "sh")

    def tmux(self, *words, check=True):
        environment = harness.bare_environment(LC_ALL="C.UTF-8", TERM="xterm-256color")
        done = subprocess.run([TMUX, "-f", "/dev/null", "-u", "-S", self.socket, *words], env=environment,
                              capture_output=True, text=True, check=False, timeout=30)
        if check:
            self.case.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def line(self, text):
        self.tmux("send-keys", "-l", text)
        self.keys("Enter")

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def wait_for(self, pattern, seconds=30):
        """Returns the screen on which the pattern is."""
        until = time.monotonic() + seconds
        while True:
            screen = self.screen()
            if re.search(pattern, screen):
                return screen
            self.case.assertLess(time.monotonic(), until, f"no {pattern} in\n{screen}")
            time.sleep(0.2)
