"""Purpose: tests that the reference has all variables and all fields of JSON.

Truth: the names in the sources, and documents of real and golden runs, which TypeScript's own compiler compares with
the types that the reference is made from.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import harness
import python_package

TYPES = os.path.join(harness.ROOT, "web", "src", "report")
GOLDEN = os.path.join(harness.ROOT, "tests", "golden", "v3")
WRITERS = ("analyzer/print/json/*.cpp", "analyzer/cli/commands/postmortem_command.cpp", "analyzer/cli/commands/diff_command.cpp")


def text_of(*path):
    with open(os.path.join(harness.ROOT, *path), encoding="utf-8") as file:
        return file.read()


def sources(*folders):
    """Returns the text of the sources below these folders."""
    names = (name for folder in folders for ending in ("cpp", "h", "py")
             for name in glob.glob(f"{folder}/**/*.{ending}", root_dir=harness.ROOT, recursive=True))
    return "\n".join(text_of(name) for name in names)


class Variables(harness.Case):
    def test_each_variable_of_the_sources_is_in_the_page_and_no_other(self):
        known = set(re.findall(r'"(MEMTRACE(?:_[A-Z_]+)?)["=]', sources("preload", "analyzer", "cupti", "python")))
        with_option = set(re.findall(r"^unset (MEMTRACE_\w+)$", self.unset(), re.M))
        rows = set(re.findall(r"^\| `(MEMTRACE\w*)` \|", text_of("docs", "reference", "environment.md"), re.M))
        self.assertGreater(len(with_option), 13)
        self.assertEqual(rows & with_option, set(), "the site makes the rows of variables that have an option")
        self.assertEqual(rows | with_option, known)

    def unset(self):
        return subprocess.run([harness.COMMAND, "env", "--unset"], capture_output=True, text=True, check=True,
                              env=harness.bare_environment()).stdout


class Fields(harness.Case):
    def ask(self, *words):
        done = subprocess.run([harness.COMMAND, *words, "--format", "json"], env=harness.bare_environment(), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def documents(self):
        """Yields documents of each kind: the name of their type, and the text."""
        done = self.run_in("traced", [sys.executable, harness.program("growing_log.py"), "1"], self.environment(
            PYTHONPATH=python_package.PACKAGE, MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, 0, done.stderr)
        train, dropped = (os.path.join(GOLDEN, name) for name in ("train.memtrace", "long.memtrace"))
        for path in (self.out, train, dropped):  # `dropped`: with ranges of steps
            for command in ("report", "postmortem"):
                yield "ReportDocument", self.ask(command, path)
            yield "TreeDocument", self.ask("tree", path)
        yield "ReportDocument", self.ask("report", train, "--compact", "--all-steps")
        yield "DiffDocument", self.ask("diff", train, "--first-vs-steady")
        yield "DiffDocument", self.ask("diff", train, self.out)
        yield "ExplainDocument", self.ask("explain", train, "--project", "7e9")
        yield "DoctorDocument", self.ask("doctor")
        yield "EnvDocument", self.ask("env", "--quiet")

    def compile(self, documents):
        """Returns what the compiler says of documents as values of their types. It rejects missing and unknown fields."""
        names = {"document": ("ReportDocument",), "answers": ("TreeDocument", "DiffDocument", "ExplainDocument",
                                                              "DoctorDocument", "EnvDocument")}
        lines = [f"import {{{', '.join(kinds)}}} from {json.dumps(os.path.join(TYPES, file))};" for file, kinds in names.items()]
        lines += [f"export const d{number}: {kind} = {json.dumps(json.loads(text))};" for number, (kind, text) in enumerate(documents)]
        path = os.path.join(self.scratch, "documents.ts")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        done = subprocess.run(["tsc", "--noEmit", "--strict", "--target", "es2020", path], text=True, capture_output=True,
                              check=False, timeout=300)
        return done.stdout

    def test_documents_have_the_fields_of_the_types(self):
        if shutil.which("tsc") is None:
            self.skipTest("no tsc: scripts/setup installs it")
        documents = list(self.documents())
        planted = json.loads(documents[0][1])
        planted["processes"][0]["peaks"][0]["planted"] = 1
        del planted["processes"][0]["trace"]["own_bytes"]
        said = self.compile([*documents, ("ReportDocument", json.dumps(planted))])
        last = f"documents.ts({len(documents) + 3},"  # below two lines of imports
        faults = re.findall(r"^\S.*(?:\n +.*)*", said, re.M)  # the last line of each says which field it is
        self.assertEqual({fault.splitlines()[-1].strip() for fault in faults if last not in fault}, set(), "add it to web/src/report")
        for fault in ("\"planted\"' does not exist in type 'Peak'", "'own_bytes' is missing"):
            self.assertIn(fault, said)

    def test_each_key_of_the_writers_is_a_field(self):
        text = "\n".join(text_of(name) for pattern in WRITERS for name in glob.glob(pattern, root_dir=harness.ROOT))
        keys = {key for found in re.findall(r'\{"(\w+)",|\["(\w+)"\]|\\"(\w+)\\":', text) for key in found if key}
        types = re.sub(r"//.*|/\*\*.*?\*/", "", "\n".join(text_of(TYPES, f"{name}.ts") for name in ("document", "job", "trace_facts", "answers")))
        fields = set(re.findall(r"\b(\w+)\??: ", types)) | set(re.findall(r"Record<('\w+'(?:\|'\w+')*),", types))
        fields |= {name.strip("'") for names in fields if "'" in names for name in names.split("|")}
        self.assertGreater(len(keys), 150)
        self.assertEqual(keys - fields, set(), "add these to web/src/report, with what they mean")


if __name__ == "__main__":
    unittest.main()
