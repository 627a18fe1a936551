"""The programs that scripts/bench runs under each tool: their commands, their inputs, how much work they are given."""
import contextlib
import dataclasses
import os
import random
import shutil
import socket
import subprocess
import sys
import time
import typing

HERE = os.path.dirname(os.path.abspath(__file__))
CPLUSPLUS = """#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
int main(int argc, char** argv) {
  std::map<std::string, std::vector<int>> index;
  std::unordered_map<std::string, std::function<int(int)>> calls;
  const std::regex word("([a-z]+)=([0-9]+)");
  for (int i = 1; i < argc; ++i) {
    std::smatch found;
    const std::string text = argv[i];
    if (std::regex_match(text, found, word)) index[found[1]].push_back(std::stoi(found[2]));
    calls[text] = [i](int n) { return n * i; };
  }
  for (auto& [name, values] : index) {
    std::sort(values.begin(), values.end());
    std::cout << name << ' ' << values.size() << ' ' << calls[name](1) << '\\n';
  }
}
"""


@dataclasses.dataclass
class Place:
    """Where one run happens: a folder of its own, the inputs that all runs share, and how much work it is."""
    folder: str
    shared: str
    quick: bool = False
    share: int = 1  # the pair loops do one part in so many
    port: int = 0

    def size(self, whole, quick):
        return str(quick if self.quick else whole)

    def input(self, name):
        return os.path.join(self.shared, name)


@dataclasses.dataclass
class Program:
    name: str
    title: str
    command: typing.Callable  # of a Place: the command, a Python script's begins with the interpreter
    prepare: typing.Callable = lambda place: None  # makes the inputs, once
    needs: tuple = ()  # pairs: a command, a folder or a Python module, and how to get it
    small: bool = True  # memtrace would leave no file, for less than MEMTRACE_MIN_PEAK
    memtrace: dict = dataclasses.field(default_factory=dict)
    python: bool = False
    workers: bool = False
    tensors: bool = False
    rounds: int = 5
    least: int = 100  # allocations, or records of them, without which nothing was recorded
    driver: typing.Optional[typing.Callable] = None  # runs beside the program, and ends it

    def missing(self):
        """What keeps this program from running here, and how to get it; None when nothing does."""
        for what, how in self.needs:
            if shutil.which(what) is None and not os.path.isdir(what) and not has_module(what):
                return f"{what} is missing: {how}"
        return None


def has_module(name):
    return subprocess.run([sys.executable, "-c", f"import importlib.util as u; exit(u.find_spec('{name}') is None)"],
                          stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def words(count):
    """Text that compresses as text does, the same in each run."""
    maker = random.Random(4)
    known = ["".join(maker.choices("etaoinshrdlucmfw", k=maker.randint(2, 9))) for _ in range(5000)]
    return " ".join(maker.choices(known, k=count))


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def sql(rows):
    return f"""PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-16000;
CREATE TABLE sale(id INTEGER PRIMARY KEY, town TEXT, price REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
  INSERT INTO sale SELECT i, 'town ' || (i * 7919 % 5003), (i * 31 % 1000) / 10.0 FROM n;
CREATE INDEX sale_town ON sale(town);
SELECT town, count(*), group_concat(id % 10), sum(price) FROM sale GROUP BY town ORDER BY 4 DESC LIMIT 3;
UPDATE sale SET town = upper(town) WHERE id % 3 = 0;
"""


def compiler():
    """The compiler proper: g++ itself only starts it, and tools that do not follow children would see nothing."""
    return subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True,
                          check=True).stdout.strip()


def preprocess(place):
    write(place.input("unit.cc"), CPLUSPLUS)
    subprocess.run(["g++", "-std=c++17", "-E", place.input("unit.cc"), "-o", place.input("unit.ii")], check=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def redis(place):
    place.port = free_port()
    return ["redis-server", "--port", str(place.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
            "--dir", place.folder]


def redis_clients(place, alive):
    """The clients are not measured, the server alone is."""
    client = ["redis-cli", "-p", str(place.port)]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    while alive() and subprocess.run([*client, "ping"], check=False, **quiet).returncode != 0:
        time.sleep(0.05)
    try:
        subprocess.run(["redis-benchmark", "-p", str(place.port), "-t", "set,get,lpush,hset", "-q",
                        "-n", place.size(300_000, 10_000), "-r", "100000", "-d", "200", "-P", "16", "-c", "20"],
                       check=False, timeout=600, **quiet)
    finally:
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run([*client, "shutdown", "nosave"], check=False, timeout=60, **quiet)


def pairs(threads, size):
    def command(place):
        count = int(place.size(10_000_000 if size == 0 else 20_000_000, 400_000)) // place.share
        return [place.input("pair"), str(threads), str(count), str(size)]
    kind = "10,000 live blocks of 16 to 528 bytes for each thread" if size == 0 else f"{size} bytes, freed at once"
    many = "1 thread" if threads == 1 else f"{threads} threads"
    name = f"{'live' if size == 0 else 'pair'}-{threads}"
    return Program(name, f"malloc and free in a loop, {many}, {kind}", command, least=50_000)


def script(name, *arguments):
    return [sys.executable, os.path.join(HERE, name), *arguments]


# Packages beside the environment of PyTorch: with pandas in it, `import transformers` would load it.
WITH_PANDAS = os.path.join(os.path.dirname(sys.prefix), "datasets")


def known():
    torch = (("torch", "scripts/setup"),)
    both = (*torch, ("transformers", "scripts/setup"))
    return [
        *[pairs(threads, size) for size in (64, 0) for threads in (1, 2, 8)],
        Program("import-torch", "`import torch`", lambda place: [sys.executable, place.input("import.py")],
                lambda place: write(place.input("import.py"), "import torch\n"), needs=torch, small=False, python=True,
                least=10_000),
        Program("train-small", "PyTorch, training with small steps",
                lambda place: script("train.py", "small", place.size(100, 5)), needs=both, small=False, python=True,
                tensors=True, rounds=15, least=10_000),
        Program("train-eager", "PyTorch, training that is bound by launches: 3,000 tensors a step",
                lambda place: script("eager.py", place.size(120, 5)), needs=torch, small=False, python=True,
                tensors=True, rounds=15, least=10_000),
        Program("train-large", "PyTorch, training with large steps",
                lambda place: script("train.py", "large", place.size(5, 1)), needs=both, small=False, python=True,
                tensors=True, rounds=15, least=10_000),
        Program("loader", "PyTorch, a DataLoader with two workers",
                lambda place: script("loader.py", place.size(6000, 64)), needs=torch, small=False, python=True,
                workers=True, tensors=True, least=10_000),
        Program("pandas", "pandas: groups, joins, a pivot table, CSV",
                lambda place: script("pandas_frames.py", WITH_PANDAS, place.size(40, 1)),
                needs=((os.path.join(WITH_PANDAS, "pandas"), "scripts/setup"), ("numpy", "scripts/setup")),
                small=False, python=True, least=10_000),
        Program("xz", "xz -6, 9 MB of text", lambda place: ["xz", "-6", "-T1", "-k", "-c", place.input("text")],
                lambda place: write(place.input("text"), words(1_500_000 // (20 if place.quick else 1))),
                needs=(("xz", "apt-get install xz-utils"),), least=10),
        Program("sqlite", "sqlite3: inserts, an index, a query, an update",
                lambda place: ["sqlite3", os.path.join(place.folder, "db"), f".read {place.input('sales.sql')}"],
                lambda place: write(place.input("sales.sql"), sql(place.size(500_000, 5_000))),
                needs=(("sqlite3", "apt-get install sqlite3"),), least=1000),
        Program("g++", "g++ -O2: its cc1plus, on one preprocessed file",
                lambda place: [compiler(), "-quiet", "-fpreprocessed", place.input("unit.ii"), "-O2", "-std=c++17",
                               "-o", os.path.join(place.folder, "unit.s")],
                preprocess, needs=(("g++", "apt-get install g++"),), memtrace={"MEMTRACE_SKIP": ""}, least=1000),
        Program("redis", "redis-server with jemalloc, under redis-benchmark", redis,
                needs=(("redis-server", "scripts/bench --setup"), ("redis-benchmark", "scripts/bench --setup")),
                driver=redis_clients, least=1000),
    ]
