"""Uses subprocess in its ways: a shell, pipes, a failing child, an empty environment, closed descriptors."""
import os
import subprocess
import sys

print(subprocess.run(["sh", "-c", "echo out; echo err >&2; exit 7"], capture_output=True))
print(subprocess.run([sys.executable, "-c", "print(sum(range(10)))"], capture_output=True, text=True).stdout)
print(subprocess.run([sys.executable, "-I", "-c", "print('bare')"], env={}, capture_output=True).stdout)
print(subprocess.run(["cat"], input=b"x" * 100_000, capture_output=True).stdout == b"x" * 100_000)
# Disabled, because a recording process that is killed leaves its rings, as it should.
with subprocess.Popen(["sleep", "100"], env={**os.environ, "MEMTRACE": "0"}) as child:
    child.kill()
print(child.returncode)
try:
    subprocess.run(["/nonexistent/program"], check=True)
except FileNotFoundError as error:
    print(error)
fds = subprocess.run([sys.executable, "-c", "import os; print(os.open('/dev/null', os.O_RDONLY))"],
                     capture_output=True, text=True)
print(fds.stdout, fds.stderr)
