"""Purpose: ranks of torchrun that only wait. Rank 0 holds 200 MiB, the others 48. The last rank ends itself by SIGKILL."""
import os
import pathlib
import signal
import time

MIB = 1 << 20
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
held = bytearray(b"x") * ((200 if rank == 0 else 48) * MIB)
pathlib.Path(f"rank{rank}").write_text(f"{os.getpid()}", encoding="ascii")
while not all(os.path.exists(f"rank{other}") for other in range(world)):
    time.sleep(0.1)
time.sleep(2)  # a sample of each rank's memory
if rank == world - 1:
    pathlib.Path("died").write_text(f"{time.time()}", encoding="ascii")
    os.kill(os.getpid(), signal.SIGKILL)
while True:
    time.sleep(60)
