"""Purpose: tests the ways in beside the command: a C program that finds memtrace by CMake or pkg-config in an install
tree that was copied, and the Debian package.
"""
import gzip
import os
import re
import shutil
import subprocess
import sys
import unittest

import harness

PROGRAM = """
#include <memtrace.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
  memtrace_phase_begin("filling");
  char* block = malloc(50 << 20);
  memset(block, 1, 50 << 20);
  memtrace_phase_end();
  memtrace_snapshot("filled");
  if (memtrace_is_recording() != (getenv("LD_PRELOAD") != NULL)) return 2;
  return block[7] - 1;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(user C)
find_package(memtrace 0.1 REQUIRED)
file(WRITE ${CMAKE_BINARY_DIR}/preload "${memtrace_PRELOAD}")
add_executable(user user.c)
target_link_libraries(user PRIVATE memtrace::memtrace)
"""


def run(*command, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300,
                          **{"env": harness.bare_environment(), **options})
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def needed(*programs):
    for program in programs:
        if shutil.which(program) is None:
            raise unittest.SkipTest(f"no {program} here: run scripts/setup")


class InstallTree(harness.Case):
    def setUp(self):
        super().setUp()
        first = os.path.join(self.scratch, "first")
        run("cmake", "--install", harness.BUILD, "--prefix", first)
        self.prefix = os.path.join(self.scratch, "elsewhere", "memtrace")
        shutil.copytree(first, self.prefix)
        shutil.rmtree(first)
        self.user = os.path.join(self.scratch, "user")
        os.mkdir(self.user)
        for name, text in (("user.c", PROGRAM), ("CMakeLists.txt", PROJECT)):
            with open(os.path.join(self.user, name), "w", encoding="utf-8") as file:
                file.write(text)

    def check_traced(self, program, preload):
        self.assertEqual(os.path.realpath(preload), os.path.join(self.prefix, "lib", "libmemtrace.so"))
        run(program)
        run(program, env=harness.bare_environment(LD_PRELOAD=preload, MEMTRACE_OUT=self.out, MEMTRACE_QUIET="1"))
        process = self.only_process(self.report())
        rows = [row for row in process["phases"] if row["path"] == ["filling"]]
        self.assertTrue(rows)
        self.assertGreaterEqual(rows[0]["allocated"], 50 << 20)
        self.assertEqual([(one["name"], one["at"][0]["asked"]) for one in process["snapshots"]], [("filled", 50 << 20)])

    def test_cmake_finds_it(self):
        build = os.path.join(self.user, "build")
        run("cmake", "-S", self.user, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        with open(os.path.join(build, "preload"), encoding="utf-8") as file:
            self.check_traced(os.path.join(build, "user"), file.read())

    def test_cmake_refuses_another_version(self):
        with open(os.path.join(self.user, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(PROJECT.replace("memtrace 0.1", "memtrace 99.0"))
        with self.assertRaisesRegex(AssertionError, "compatible with requested version"):
            run("cmake", "-S", self.user, "-B", os.path.join(self.user, "build"), f"-DCMAKE_PREFIX_PATH={self.prefix}")

    def test_pkg_config_finds_it(self):
        needed("pkg-config", "cc")
        settings = harness.bare_environment(PKG_CONFIG_PATH=os.path.join(self.prefix, "lib", "pkgconfig"))
        ask = lambda *options: run("pkg-config", *options, "memtrace", env=settings).split()
        program = os.path.join(self.user, "user")
        run("cc", *ask("--cflags"), os.path.join(self.user, "user.c"), "-o", program, *ask("--libs"))
        self.check_traced(program, ask("--variable=preload")[0])
        version = run(os.path.join(self.prefix, "bin", "memtrace"), "--version").split()[1]
        self.assertEqual(ask("--modversion"), [version])

    def test_a_traced_python_finds_the_package(self):
        code = ("import memtrace, sys\n"
                "memtrace.snapshot('here')\n"
                "print(memtrace.is_recording(), memtrace.open(sys.argv[1]).process.end.how if sys.argv[1:] else '')\n")
        environment = harness.bare_environment(LD_PRELOAD=os.path.join(self.prefix, "lib", "libmemtrace.so"),
                                               MEMTRACE_OUT=self.out, MEMTRACE_QUIET="1")
        self.assertEqual(run(sys.executable, "-c", code, env=environment), "True \n")
        environment.update(MEMTRACE_OUT=os.path.join(self.scratch, "again"))
        self.assertEqual(run(sys.executable, "-c", code, self.out, env=environment), "True exit\n")
        package = harness.bare_environment(PYTHONPATH=os.path.join(self.prefix, "lib", "memtrace", "python"))
        self.assertRegex(run(sys.executable, "-m", "memtrace", "--version", env=package), r"\Amemtrace \d")

    def test_no_file_names_the_first_place(self):
        for folder, _, names in os.walk(self.prefix):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertNotIn(os.path.join(self.scratch, "first").encode(), file.read(), name)


class Deb(harness.Case):
    def setUp(self):
        super().setUp()
        needed("cpack", "dpkg-deb", "dpkg-shlibdeps", "gzip")
        self.deb = self.packed("one")

    def packed(self, folder, umask=0o022):
        place = os.path.join(self.scratch, folder)
        os.mkdir(place)
        run("cpack", "-G", "DEB", "-B", place, "--config", os.path.join(harness.BUILD, "CPackConfig.cmake"), cwd=place,
            umask=umask, env=harness.bare_environment(SOURCE_DATE_EPOCH="1700000000"))
        found = [name for name in os.listdir(place) if name.endswith(".deb")]
        self.assertEqual(len(found), 1)
        return os.path.join(place, found[0])

    def test_fields(self):
        fields = dict(re.findall(r"^(\S+): (.*)$", run("dpkg-deb", "-f", self.deb), re.M))
        self.assertEqual(fields["Package"], "memtrace")
        version = run(harness.COMMAND, "--version").split()[1]
        self.assertEqual(fields["Version"], version)
        self.assertEqual(os.path.basename(self.deb), f"memtrace_{version}_{fields['Architecture']}.deb")
        self.assertRegex(fields["Depends"], r"^libc6 \(>= 2\.\d+\)$")
        self.assertEqual(fields["Description"], "memory tracer for training jobs")

    def test_contents(self):
        listed = [line.split(None, 5) for line in run("dpkg-deb", "-c", self.deb).splitlines()]
        modes = {line[5].removeprefix("."): line[0] for line in listed}
        self.assertEqual({line[1] for line in listed}, {"root/root"})
        for path in ("/usr/bin/memtrace", "/usr/lib/libmemtrace.so", "/usr/include/memtrace.h",
                     "/usr/share/man/man1/memtrace.1.gz", "/usr/share/man/man1/memtrace-env.1.gz",
                     "/usr/share/doc/memtrace/copyright", "/usr/share/doc/memtrace/changelog.gz",
                     "/usr/share/bash-completion/completions/memtrace", "/usr/share/zsh/vendor-completions/_memtrace",
                     "/usr/share/fish/vendor_completions.d/memtrace.fish", "/usr/lib/pkgconfig/memtrace.pc"):
            self.assertIn(path, modes)
        if os.path.exists(os.path.join(harness.BUILD, "NOTICES")):  # made if the command is linked statically
            self.assertIn("/usr/share/doc/memtrace/NOTICES", modes)
        self.assertEqual([path for path in modes if path.endswith(".1")], [], "man pages are compressed")
        for path, mode in modes.items():
            if path.endswith("/") or path.startswith("/usr/bin/"):
                self.assertTrue(mode.endswith("rwxr-xr-x"), (path, mode))
            else:
                self.assertTrue(mode.startswith("-rw-r--r--"), (path, mode))

    def test_unpacked_in_a_root(self):
        root = os.path.join(self.scratch, "root")
        os.makedirs(os.path.join(root, "var/lib/dpkg/updates"))
        os.makedirs(os.path.join(root, "var/lib/dpkg/info"))
        for name in ("status", "available"):
            with open(os.path.join(root, "var/lib/dpkg", name), "w", encoding="utf-8"):
                pass
        run("dpkg", f"--root={root}", "--force-not-root", "--force-depends", "--unpack", self.deb)
        command = os.path.join(root, "usr/bin/memtrace")
        run(command, "run", "-o", self.out, "--min-peak", "0", "--quiet", "--", "cat", "/dev/null")
        self.assertIn("cat", run(command, "report", self.out))
        with gzip.open(os.path.join(root, "usr/share/man/man1/memtrace-report.1.gz"), "rt") as file:
            self.assertIn("--format", file.read().replace("\\-", "-"))
        needs = run("readelf", "-d", command)
        self.assertNotRegex(needs, r"libstdc\+\+|libdw|libelf")

    def test_equal_in_another_folder(self):
        with open(self.deb, "rb") as one, open(self.packed("another folder"), "rb") as two:
            self.assertEqual(one.read(), two.read())

    def test_the_umask_of_the_build_does_not_count(self):
        self.assertEqual(run("dpkg-deb", "-c", self.packed("closed", umask=0o077)), run("dpkg-deb", "-c", self.deb))


if __name__ == "__main__":
    unittest.main()
