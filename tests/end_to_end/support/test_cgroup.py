"""Purpose: tests where groups are made, in directory trees with the files that the kernel has there, and that a
real group has the limit that was set.

A tree cannot refuse what the kernel refuses. The tests of death/ use real groups of the version that is mounted.
"""
import os
import tempfile
import unittest
from unittest import mock

import cgroup

MIB = 1 << 20


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.join(folder.name, "cgroup")
        os.mkdir(self.root)

    def put(self, place, **files):
        """Makes a group with these files; `__` stands for a dot."""
        directory = os.path.join(self.root, place.lstrip("/"))
        os.makedirs(directory, exist_ok=True)
        for name, text in {"cgroup__procs": "", "cgroup__controllers": "cpu memory", "cgroup__subtree_control": "",
                           **files}.items():
            with open(os.path.join(directory, name.replace("__", ".")), "w", encoding="ascii") as file:
                file.write(text)
        return directory

    def text(self, directory, name):
        with open(os.path.join(directory, name), encoding="ascii") as file:
            return file.read()


class VersionTwo(Tree):
    def place(self, own):
        return cgroup.VersionTwo(self.root, own).parent()

    def test_the_root_of_the_machine_may_hold_processes(self):
        root = self.put("/", cgroup__procs="1\n2\n")
        self.assertEqual(self.place("/"), root.rstrip("/"))
        self.assertEqual(self.text(root, "cgroup.subtree_control"), "+memory")

    def test_beside_the_own_group_if_the_parent_has_the_controller(self):
        self.put("/", cgroup__subtree_control="memory")
        app = self.put("/app.slice", cgroup__type="domain", cgroup__subtree_control="cpu memory")
        own = self.put("/app.slice/run.scope", cgroup__type="domain", cgroup__procs="7\n")
        self.assertEqual(self.place("/app.slice/run.scope"), app)
        self.assertEqual(self.text(own, "cgroup.subtree_control"), "", "the processes stay where they are")

    def test_in_an_empty_group_above(self):
        self.put("/", cgroup__controllers="")
        empty = self.put("/delegated", cgroup__type="domain")
        self.put("/delegated/own", cgroup__type="domain", cgroup__procs="7\n", cgroup__controllers="")
        self.assertEqual(self.place("/delegated/own"), empty)

    def test_processes_move_to_a_leaf_first(self):
        """The root of a cgroup namespace, as in a container: it holds the processes, and the kernel refuses the
        controller until they have moved."""
        root = self.put("/", cgroup__type="domain", cgroup__procs="7\n8\n")
        moved = []
        leaf = os.path.join(root, cgroup.LEAF)
        real = open

        def kernel(path, mode="r", **more):
            if mode == "w" and str(path) == os.path.join(leaf, "cgroup.procs"):
                return mock.mock_open()() if not moved.append(len(moved)) else None
            if mode == "w" and str(path).endswith("subtree_control") and len(moved) < 2:
                raise OSError(16, "busy")
            return real(path, mode, **more)

        with mock.patch("builtins.open", kernel):
            self.assertEqual(self.place("/"), root.rstrip("/"))
        self.assertEqual(len(moved), 2)
        self.assertEqual(self.text(root, "cgroup.subtree_control"), "+memory")

    def test_without_the_controller(self):
        """A hybrid machine: version 1 has the memory controller."""
        self.put("/", cgroup__controllers="hugetlb")
        self.assertIsNone(self.place("/"))

    def test_a_group_and_its_figures(self):
        self.put("/", cgroup__subtree_control="memory")
        with mock.patch.object(cgroup, "place_for_groups", lambda: (cgroup.VersionTwo(self.root, "/"), self.root)):
            group = cgroup.Group("some", 100 * MIB)
            inner = cgroup.Group("inner", below=group)
        self.assertEqual(self.text(group.directory, "memory.max"), str(100 * MIB))
        self.assertEqual(self.text(group.directory, "cgroup.subtree_control"), "+memory")
        self.assertEqual(inner.path, f"{group.path}/{os.path.basename(inner.directory)}")
        self.put(group.path, memory__events="low 0\nhigh 0\nmax 9\noom 4\noom_kill 5\noom_group_kill 1\n",
                 memory__events__local="low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 1\n",
                 memory__peak="12345\n", memory__stat="anon 1\nfile 5000\nkernel 2\nshmem 1000\nfile_mapped 7\n")
        self.assertEqual((group.kills(), group.highest(), group.cache()), (2, 12345, 4000))


class Mounts(Tree):
    def found(self, mounts, own):
        paths = []
        for name, text in (("mountinfo", mounts), ("own", own)):
            paths.append(os.path.join(self.root, name))
            with open(paths[-1], "w", encoding="ascii") as file:
                file.write(text)
        return [(type(one).__name__, one.root) for one in cgroup.hierarchies(*paths)]

    def test_version_one_before_version_two(self):
        """As on a hybrid machine."""
        mounts = ("30 1 0:1 / /sys/fs/cgroup rw - tmpfs none rw\n"
                  "31 30 0:2 / /sys/fs/cgroup/unified rw shared:1 - cgroup2 none rw\n"
                  "32 30 0:3 / /sys/fs/cgroup/cpu rw - cgroup none rw,cpu\n"
                  "33 30 0:4 / /sys/fs/cgroup/memory rw - cgroup none rw,memory\n")
        self.assertEqual(self.found(mounts, "4:memory:/some\n0::/\n"),
                         [("VersionOne", "/sys/fs/cgroup/memory"), ("VersionTwo", "/sys/fs/cgroup/unified")])

    def test_version_two_alone(self):
        self.assertEqual(self.found("25 1 0:2 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n", "0::/user/x\n"),
                         [("VersionTwo", "/sys/fs/cgroup")])
        with open(os.path.join(self.root, "own"), encoding="ascii"):
            one = cgroup.hierarchies(os.path.join(self.root, "mountinfo"), os.path.join(self.root, "own"))[0]
        self.assertEqual(one.own, "/sys/fs/cgroup/user/x")


class Real(unittest.TestCase):
    def test_the_kernel_has_the_limit(self):
        with cgroup.Group("real", 100 * MIB) as group:
            self.assertEqual(int(group.read(group.version.LIMIT)), 100 * MIB)
            self.assertEqual(group.kills(), 0)
            with cgroup.Group("inner", 50 * MIB, below=group) as inner:
                self.assertEqual(int(inner.read(group.version.LIMIT)), 50 * MIB)
            place = group.directory
        self.assertFalse(os.path.exists(place))


if __name__ == "__main__":
    unittest.main()
