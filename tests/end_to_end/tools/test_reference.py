"""Purpose: tests the man pages and the completion that the build makes: they have every option of --help, and shells
complete commands, options, choices and files with them.
"""
import os
import pty
import re
import select
import shutil
import subprocess
import time
import unittest

import harness

SHARE = os.path.join(harness.BUILD, "reference", "share")
PAGES = os.path.join(SHARE, "man", "man1")
BASH = os.path.join(SHARE, "bash-completion", "completions", "memtrace")
ZSH = os.path.join(SHARE, "zsh", "site-functions", "_memtrace")
FISH = os.path.join(SHARE, "fish", "vendor_completions.d", "memtrace.fish")
WRITER = os.path.join(harness.BUILD, "analyzer", "cli", "reference", "memtrace_write_reference")


def run(*command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
                          env=harness.bare_environment(LC_ALL="C.UTF-8", **options.pop("more", {})), **options)


def help_of(*command):
    return run(harness.COMMAND, *command, "--help").stdout


def commands():
    return re.findall(r"^    (\w+) ", help_of().partition("Subcommands:")[2], re.M)


def options_of(command):
    """Returns the names of the options that --help shows, each with its fixed choices."""
    found = re.findall(r"^    (--?[\w-]+)(?: (\w+(?:\|\w+)+))?", help_of(command).partition("Options:")[2], re.M)
    return {name: choices.split("|") if choices else [] for name, choices in found}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def texts_below(folder):
    return {os.path.relpath(os.path.join(place, name), folder): read(os.path.join(place, name))
            for place, _, names in os.walk(folder) for name in names}


def needed(program):
    if shutil.which(program) is None:
        raise unittest.SkipTest(f"no {program} here")
    return program


class Reference(harness.Case):
    def setUp(self):
        super().setUp()
        if not os.path.exists(WRITER):
            self.fail(f"{WRITER} is not built")
        for name in ("run.memtrace", "a file.memtrace", "other"):
            with open(os.path.join(self.scratch, name), "w", encoding="utf-8"):
                pass
        for name in ("a directory", "traces"):
            os.mkdir(os.path.join(self.scratch, name))


class Pages(Reference):
    def test_each_command_and_option_is_there(self):
        self.assertGreaterEqual(len(commands()), 7)
        self.assertEqual({os.path.basename(path) for path in os.listdir(PAGES)},
                         {"memtrace.1", *(f"memtrace-{name}.1" for name in commands())})
        completions = [read(path) for path in (BASH, ZSH, FISH)]
        for command in commands():
            page = read(os.path.join(PAGES, f"memtrace-{command}.1")).replace("\\-", "-")
            options = options_of(command)
            self.assertTrue(options)
            for name, choices in options.items():
                self.assertIn(f"\\fB{name}\\fR", page)
                for text in (*choices, name.lstrip("-")):
                    for script in completions:
                        self.assertIn(text, script)

    def test_variables_of_the_options(self):
        for command in ("run", "env"):
            page = read(os.path.join(PAGES, f"memtrace-{command}.1"))
            self.assertRegex(page, r"\\fBMEMTRACE_MIN_PEAK\\fR\nthe value of \\-\\-min\\-peak\n")
        self.assertNotIn("MEMTRACE_", read(os.path.join(PAGES, "memtrace-doctor.1")))

    def lint(self, *command):
        needed(command[0])
        for page in sorted(os.listdir(PAGES)):
            done = run(*command, os.path.join(PAGES, page))
            # The pages have no date, so that two builds are equal.
            said = [line for line in (done.stderr + done.stdout * (command[0] == "mandoc")).splitlines()
                    if 'missing date, using ""' not in line]
            self.assertEqual(said, [], page)

    def test_groff_does_not_warn(self):
        self.lint("groff", "-ww", "-man", "-Tutf8")

    def test_man_does_not_warn(self):
        self.lint("man", "--warnings", "-l")

    def test_mandoc_does_not_warn(self):
        self.lint("mandoc", "-T", "lint", "-W", "warning")

    def test_two_runs_are_equal(self):
        again = os.path.join(self.scratch, "again")
        self.assertEqual(run(WRITER, again).returncode, 0)
        self.assertEqual(texts_below(SHARE), texts_below(again))


class Bash(Reference):
    def replies(self, *words):
        """Returns what bash completes the last word with, in a directory with some files."""
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _memtrace; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        done = run("bash", "--norc", "-c", script, "-", BASH, "memtrace", *words, cwd=self.scratch)
        self.assertEqual(done.stderr, "")
        return sorted(filter(None, done.stdout.splitlines()))

    def test_commands(self):
        self.assertLessEqual(set(commands()), set(self.replies("")))
        self.assertEqual(self.replies("po"), ["postmortem"])

    def test_options(self):
        self.assertEqual(self.replies("diff", "--fi"), ["--first-vs-steady"])
        self.assertLessEqual(set(options_of("report")), set(self.replies("report", "-")))

    def test_choices(self):
        self.assertEqual(self.replies("report", "--format", ""), ["html", "json", "text"])
        self.assertEqual(self.replies("report", "x", "--format", "j"), ["json"])
        self.assertEqual(self.replies("run", "--phases", ""), ["auto", "marks", "off"])
        self.assertEqual(self.replies("run", "--phases", "=", "m"), ["marks"])
        self.assertEqual(self.replies("run", "--phases", "="), ["auto", "marks", "off"])

    def test_files(self):
        self.assertEqual(self.replies("report", "ru"), ["run.memtrace"])
        self.assertEqual(self.replies("report", "a"), ["a directory", "a file.memtrace"])
        self.assertEqual(self.replies("report", "-o", "ot"), ["other"])
        self.assertEqual(self.replies("run", "-o", ""), ["a directory", "traces"])
        self.assertEqual(self.replies("report", "--top", ""), [])

    def test_the_program_behind_the_dashes(self):
        self.assertIn("mkfifo", self.replies("run", "--", "mkfi"))
        self.assertEqual(self.replies("run", "--quiet", "--", "python3", "ru"), ["run.memtrace"])
        self.assertEqual(self.replies("run", "--", "python3", "--min"), [])


class Zsh(Reference):
    def completed(self, line):
        """Returns the line after zsh completed it at its end."""
        needed("zsh")
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.scratch)
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**harness.bare_environment(TERM="dumb", PS1="", LC_ALL="C.UTF-8"),
                                                    "HOME": self.scratch})
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.close, terminal)
        setup = (f"unsetopt zle_bracketed_paste; fpath=({os.path.dirname(ZSH)} $fpath); autoload -U compinit; compinit -u -D; "
                 "show() { zle -M \"<$BUFFER>\"; }; zle -N show; bindkey '^X' show; echo rea''dy\n")
        os.write(terminal, setup.encode())
        self.read_until(terminal, rb"ready\r")
        os.write(terminal, line.encode() + b"\t\x18")
        return self.read_until(terminal, rb"<(memtrace[^>]*)>").group(1).decode()

    def read_until(self, terminal, pattern):
        until, text = time.monotonic() + 30, b""
        while time.monotonic() < until and select.select([terminal], [], [], 30)[0]:
            text += os.read(terminal, 65536)
            found = re.search(pattern, text)
            if found:
                return found
        raise AssertionError(f"no {pattern} in {text}")

    def test_it_completes(self):
        for line, expected in (("memtrace postm", "memtrace postmortem "),
                               ("memtrace diff --fi", "memtrace diff --first-vs-steady "),
                               ("memtrace report --format j", "memtrace report --format json "),
                               ("memtrace run --phases m", "memtrace run --phases marks "),
                               ("memtrace report ru", "memtrace report run.memtrace "),
                               ("memtrace run -o tr", "memtrace run -o traces/"),
                               ("memtrace run --quiet -- mkfif", "memtrace run --quiet -- mkfifo "),
                               ("memtrace run -- cat ot", "memtrace run -- cat other ")):
            with self.subTest(line):
                self.assertEqual(self.completed(line), expected)


class Fish(Reference):
    def replies(self, line):
        needed("fish")
        done = run("fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", FISH, line, cwd=self.scratch,
                   more={"HOME": self.scratch})
        self.assertEqual(done.stderr, "")
        return [reply.partition("\t")[0] for reply in done.stdout.splitlines()]

    def test_it_completes(self):
        self.assertLessEqual(set(commands()), set(self.replies("memtrace ")))
        self.assertNotIn("other", self.replies("memtrace "))
        for line, expected in (("memtrace postm", ["postmortem"]),
                               ("memtrace diff --fi", ["--first-vs-steady"]),
                               ("memtrace report --format j", ["json"]),
                               ("memtrace run --phases ", ["auto", "marks", "off"]),
                               ("memtrace report ru", ["run.memtrace"]),
                               ("memtrace run -o tr", ["traces/"]),
                               ("memtrace run --quiet -- mkfif", ["mkfifo"]),
                               ("memtrace run -- cat ot", ["other"])):
            with self.subTest(line):
                self.assertEqual(sorted(self.replies(line)), expected)


if __name__ == "__main__":
    unittest.main()
