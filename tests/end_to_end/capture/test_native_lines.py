"""Purpose: compares lines and inlined functions of native code with addr2line, for each form of debug
information. Without debug information, frames have functions only."""
import os
import re
import shutil
import subprocess
import unittest

from harness import COMMAND, Case, bare_environment, program

SOURCE = program("inlined.cpp")


def output_of(command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def call_sites(executable):
    """Returns addresses within the calls on the way to malloc, the innermost first: `fill` calls malloc, `main`
    calls `fill`."""
    found = []
    for function, called in (("<_Z4filli>:", "malloc"), ("<main>:", "_Z4filli")):
        body = output_of(["objdump", "-d", "--no-show-raw-insn", executable]).split(function)[1].split("\n\n")[0]
        after = re.search(rf"call\s[^\n]*{called}[^\n]*\n\s*([0-9a-f]+):", body)
        found.append(int(after.group(1), 16) - 1)
    return found


def expected_frames(executable):
    """Returns function, file and line of each frame, from addr2line."""
    frames = []
    for address in call_sites(executable):
        lines = output_of(["addr2line", "-i", "-f", "-C", "-e", executable, hex(address)]).splitlines()
        for function, place in zip(lines[::2], lines[1::2]):
            file, line = place.split(" ")[0].rsplit(":", 1)
            frames.append((function, os.path.realpath(file), int(line)))
    return frames


class NativeLines(Case):
    def build(self, compiler="g++", *flags, strip=()):
        """Returns the program and its build with plain debug information, which addr2line reads."""
        if shutil.which(compiler) is None:
            self.skipTest(f"{compiler} is not installed")
        names = [os.path.join(self.scratch, name) for name in ("program", "plain")]
        for name, more in zip(names, (flags, ("-g",))):
            subprocess.run([compiler, "-std=c++17", "-O2", "-Wl,--build-id", "-o", name, *more, SOURCE], check=True,
                           cwd=self.scratch)
        if strip:
            subprocess.run(["strip", *strip, names[0]], check=True)
        return names

    def site(self, report):
        """Returns the site of the block; glibc adds a header to its 9 MiB."""
        sites = [row["site"] for peak in self.only_process(report)["peaks"] for row in peak["at_peak"]
                 if 0 <= row["bytes"] - (9 << 20) < 8192]
        self.assertEqual({site["id"] for site in sites}.__len__(), 1)
        return sites[0]

    def frames(self, executable):
        """Returns the site of the 9 MiB: function, file and line from the call of malloc to main."""
        done, report = self.trace([executable], {"MEMTRACE_MIN_PEAK": "0", "MEMTRACE_QUIET": "1"})
        self.assertEqual(done.returncode, 0)
        frames = [(frame["function"], os.path.realpath(frame["file"]) if frame["file"] else "", frame["line"])
                  for frame in self.site(report)["frames"] if os.path.basename(frame["module"]) == "program"]
        return frames[:-1] if frames[-1][0] == "_start" else frames

    def check(self, compiler, *flags):
        executable, plain = self.build(compiler, *flags)
        self.compare(executable, plain)

    def compare(self, executable, plain):
        expected = expected_frames(plain)
        self.assertEqual([function.split("(")[0] for function, _, _ in expected], ["take", "Pool::grow", "fill", "main"])
        found = self.frames(executable)
        self.assertEqual([place for _, *place in found], [place for _, *place in expected])
        self.assertEqual([name.split("(")[0] for name, *_ in found], [name.split("(")[0] for name, *_ in expected])
        self.assertIn("take at native/inlined.cpp:", self.report_text())

    def test_gcc(self):
        self.check("g++", "-g")

    def test_gcc_dwarf_4(self):
        self.check("g++", "-g", "-gdwarf-4")

    def test_gcc_compressed(self):
        self.check("g++", "-g", "-gz=zlib")

    def test_gcc_split_units(self):
        self.check("g++", "-g", "-gsplit-dwarf")

    def test_clang(self):
        self.check("clang++", "-g")

    def test_debug_link(self):
        """A file of debug information in .debug beside the program."""
        executable, plain = self.build("g++", "-g")
        os.mkdir(os.path.join(self.scratch, ".debug"))
        self.separate(executable, os.path.join(self.scratch, ".debug", "program.debug"))
        self.compare(executable, plain)

    def test_build_id(self):
        """A file of debug information below /usr/lib/debug, as distributions install it."""
        executable, plain = self.build("g++", "-g")
        build_id = re.search(r"Build ID: ([0-9a-f]+)", output_of(["readelf", "-n", executable])).group(1)
        separate = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
        try:
            os.makedirs(os.path.dirname(separate), exist_ok=True)
            self.addCleanup(lambda: os.path.exists(separate) and os.remove(separate))
            subprocess.run(["objcopy", "--only-keep-debug", executable, separate], check=True)
        except OSError as error:
            self.skipTest(f"{os.path.dirname(separate)} is not writable: {error}")
        subprocess.run(["strip", "--strip-debug", executable], check=True)
        self.compare(executable, plain)

    def separate(self, executable, separate):
        """Moves the debug information of a program to a file that it names."""
        subprocess.run(["objcopy", "--only-keep-debug", executable, separate], check=True)
        subprocess.run(["strip", "--strip-debug", executable], check=True)
        subprocess.run(["objcopy", f"--add-gnu-debuglink={separate}", executable], check=True)

    def test_a_debug_link_to_a_fifo(self):
        """No report waits for a writer."""
        executable, _ = self.build("g++", "-g")
        separate = os.path.join(self.scratch, "program.debug")
        self.separate(executable, separate)
        os.remove(separate)
        os.mkfifo(separate)
        self.assertEqual({frame[1:] for frame in self.frames(executable)}, {("", 0)})

    def test_debug_information_of_another_build(self):
        executable, plain = self.build("g++", "-g")
        separate = os.path.join(self.scratch, "program.debug")
        self.separate(executable, separate)
        subprocess.run(["objcopy", "--only-keep-debug", "--remove-section=.note.gnu.build-id", plain, separate],
                       check=True)
        self.assertEqual({frame[1:] for frame in self.frames(executable)}, {("", 0)})

    def test_a_program_of_another_user(self):
        """Its debug information may name any file."""
        if os.geteuid() != 0:
            self.skipTest("only root can give a file to another user")
        executable, _ = self.build("g++", "-g")
        os.chown(executable, 65534, 65534)
        os.chmod(self.scratch, 0o755)
        self.assertEqual({frame[1:] for frame in self.frames(executable)}, {("", 0)})

    def test_symbols_alone(self):
        """Frames are functions with their module."""
        executable, _ = self.build("g++", strip=("--strip-debug",))
        self.assertEqual([(name.split("(")[0], file, line) for name, file, line in self.frames(executable)],
                         [("fill", "", 0), ("main", "", 0)])
        self.assertIn("fill in program", self.report_text())

    def test_stripped(self):
        executable, _ = self.build("g++", strip=("--strip-all",))
        for name, file, line in self.frames(executable):
            self.assertRegex(name, r"^program\+0x[0-9a-f]+$")
            self.assertEqual((file, line), ("", 0))

    def test_the_site_is_the_same_without_debug_information(self):
        """A build without debug information has the same code: `memtrace diff` joins both."""
        ids = []
        for strip in ((), ("--strip-debug",)):
            executable, _ = self.build("g++", "-g", strip=strip)
            shutil.rmtree(self.out, ignore_errors=True)
            _, report = self.trace([executable], {"MEMTRACE_MIN_PEAK": "0", "MEMTRACE_QUIET": "1"})
            ids.append(self.site(report)["id"])
        self.assertEqual(ids[0], ids[1])

    def test_a_server_is_asked_only_on_request(self):
        """Some distributions set DEBUGINFOD_URLS for all users. The program debuginfod-find asks the servers; here a
        script stands for it."""
        executable, plain = self.build("g++", "-g")
        separate = os.path.join(self.scratch, "downloaded")
        subprocess.run(["objcopy", "--only-keep-debug", executable, separate], check=True)
        subprocess.run(["strip", "--strip-debug", executable], check=True)
        build_id = re.search(r"Build ID: ([0-9a-f]+)", output_of(["readelf", "-n", executable])).group(1)
        asked = os.path.join(self.scratch, "asked")
        client = os.path.join(self.scratch, "bin", "debuginfod-find")
        os.mkdir(os.path.dirname(client))
        with open(client, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\necho "$@" >>{asked}\ncase $2 in {build_id}) echo {separate} ;; *) exit 1 ;; esac\n')
        os.chmod(client, 0o755)
        self.trace([executable], {"MEMTRACE_MIN_PEAK": "0", "MEMTRACE_QUIET": "1"})
        environment = bare_environment(DEBUGINFOD_URLS="http://127.0.0.1:9/",
                                       PATH=os.path.dirname(client) + os.pathsep + os.environ["PATH"])
        place = f"take at native/inlined.cpp:{expected_frames(plain)[0][2]}"
        self.assertNotIn(place, output_of([COMMAND, "report", self.out], env=environment))
        self.assertFalse(os.path.exists(asked))
        self.assertIn(place, output_of([COMMAND, "report", self.out, "--debuginfod"], env=environment))
        with open(asked, encoding="utf-8") as file:
            self.assertIn(f"debuginfo {build_id}\n", file.readlines())


if __name__ == "__main__":
    unittest.main()
