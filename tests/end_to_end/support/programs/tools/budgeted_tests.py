"""Purpose: tests of pytest with memory budgets, for test_pytest_plugin. OVER NAME marks the line in the failure of NAME."""
import os
import signal
import sys
import warnings

import pytest

MIB = 1 << 20


@pytest.fixture(scope="module")
def shared():
    yield
    print("the shared fixture ends")


@pytest.fixture(scope="module")
def three():
    yield 3


@pytest.fixture
def block():
    return bytearray(100 * MIB) # OVER test_of_fixture


@pytest.mark.memtrace("phase(test) <= 80M", "leak() <= 0")
def test_under(three, tmp_path):
    (tmp_path / "file").write_text("text")
    assert three == 3 and bytearray(10 * MIB)


@pytest.mark.memtrace("peak(host) <= 80M", "phase(test) <= 1G")
def test_over():
    print("printed by the test")
    held = bytearray(100 * MIB) # OVER test_over
    assert held


@pytest.mark.parametrize("mib", [pytest.param(1, marks=pytest.mark.memtrace("phase(test) <= 80M")),
                                 pytest.param(90, marks=pytest.mark.memtrace("phase(test) <= 80M"))])
def test_sizes(mib):
    assert bytearray(mib * MIB) # OVER test_sizes[90]


@pytest.mark.memtrace("phase(setup) <= 80M")
def test_of_fixture(block):
    assert block


class TestClass:
    pytestmark = pytest.mark.memtrace("phase(test) <= 1M") # less than Python itself

    @pytest.mark.memtrace("phase(test) <= 1G")
    def test_own_marker(self):
        pass


def test_unmarked(shared):
    assert "LD_PRELOAD" not in os.environ


@pytest.mark.memtrace("phase(test) <= 80M")
@pytest.mark.xfail(reason="known")
def test_expected_failure():
    raise ValueError


@pytest.mark.memtrace("phase(test) <= 80M")
@pytest.mark.skipif(sys.platform == "linux", reason="not on Linux")
def test_skipped():
    pass


@pytest.mark.memtrace("phase(test) <= 80M")
def test_fails(record_property):
    record_property("figure", 42)
    print("to stdout")
    print("to stderr", file=sys.stderr)
    warnings.warn("an odd value")
    value = 3
    assert value == 4


@pytest.fixture
def broken():
    raise RuntimeError("no fixture")


@pytest.mark.memtrace("phase(test) <= 80M")
def test_error(broken):
    pass


if os.environ.get("WITH_KILLED"):
    @pytest.mark.memtrace("phase(test) <= 80M")
    def test_killed():
        held = bytearray(60 * MIB) # OVER test_killed
        os.kill(os.getpid(), signal.SIGKILL)
        assert held

    @pytest.mark.memtrace("phase(test) <= 20M")
    @pytest.mark.xfail(reason="needs too much", strict=True)
    def test_expected_budget():
        assert bytearray(90 * MIB)

    @pytest.mark.xdist_group("misspelt")
    @pytest.mark.memtrace("phase(tset) <= 80M")
    def test_misspelt():
        pass
