"""Purpose: the base of the tests of packed files: a program to trace, its packed job, and what the commands print."""
import os
import subprocess

from harness import COMMAND, Case, bare_environment, program

COMMANDS = (["report"], ["report", "--all"], ["report", "--format", "json"], ["postmortem"],
            ["postmortem", "--format", "json"])


class Pack(Case):
    def setUp(self):
        super().setUp()
        self.packed = os.path.join(self.scratch, "run.memtrace.zst")
        self.temporary = os.path.join(self.scratch, "tmp")
        os.makedirs(self.temporary)

    def memtrace(self, *arguments, status=0):
        done = subprocess.run([COMMAND, *arguments], env=bare_environment(TMPDIR=self.temporary), capture_output=True,
                              cwd=self.scratch, stdin=subprocess.DEVNULL, check=False, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr.decode(errors="replace"))
        self.assertEqual(os.listdir(self.temporary), [], "an unpacked file stayed")
        return done.stdout, done.stderr.decode(errors="replace")

    def pack(self, *options, of=None, to=None):
        """Packs the job into a file, in place of one that an earlier call made."""
        output = to or self.packed
        if os.path.exists(output):
            os.remove(output)
        self.memtrace("pack", of or self.out, "-o", output, *options)
        return output

    def outputs(self, path, *more):
        """Returns what each command prints on stdout."""
        return {" ".join(command): self.memtrace(*command, path)[0] for command in (*COMMANDS, *more)}

    def refused(self, path, expected):
        """Checks that the file is refused with one line that names it."""
        out, said = self.memtrace("report", path, status=2)
        self.assertEqual(out, b"")
        self.assertRegex(said, rf"\Amemtrace: {path}[^\n]*{expected}[^\n]*\n\Z")

    def build(self, folder):
        """Returns a program in a folder, with a library of its own there."""
        os.makedirs(folder)
        library, made = os.path.join(folder, "libprivatefill.so"), os.path.join(folder, "secret_program")
        subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-shared", "-fPIC", "-Wl,--build-id", "-o",
                        library, program("library.c")], check=True)
        subprocess.run(["gcc", "-g", "-O1", "-Wl,--build-id", "-o", made, program("library_user.c"), library,
                        "-Wl,-rpath," + folder], check=True)
        return made
