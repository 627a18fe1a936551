"""Purpose: starts Slurm on this host as one node, in a directory of its own: munged, slurmctld and slurmd. It takes root."""
import contextlib
import os
import shutil
import socket
import subprocess
import time

DAEMONS = ("munged", "slurmctld", "slurmd")
SETTINGS = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1024 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP
"""


def missing():
    """Returns why Slurm cannot start here, or None."""
    absent = [name for name in (*DAEMONS, "srun") if not shutil.which(name, path=search_path())]
    if absent:
        return f"no {', '.join(absent)}: apt install munge slurmctld slurmd slurm-client"
    return None if os.geteuid() == 0 else "only root can start Slurm's daemons"


def search_path():
    return f"{os.environ['PATH']}:/usr/sbin"


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def ready(environment):
    state = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True, check=False)
    return state.stdout.strip() == "idle"


@contextlib.contextmanager
def slurm_node(folder):
    """Yields the environment in which srun uses this node."""
    host = socket.gethostname()
    for name in ("state", "spool"):
        os.makedirs(os.path.join(folder, name))
    key = os.path.join(folder, "munge.key")
    with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(os.urandom(128))
    settings = os.path.join(folder, "slurm.conf")
    with open(settings, "w", encoding="utf-8") as file:
        file.write(SETTINGS.format(host=host, folder=folder, ports=free_ports(2), cpus=os.cpu_count()))
    environment = {**os.environ, "SLURM_CONF": settings, "PATH": search_path()}
    commands = (
        ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket",
         f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed"],
        ["slurmctld", "-D", "-c", "-f", settings],
        ["slurmd", "-D", "-c", "-f", settings, "-N", host])
    daemons = []
    try:
        for command in commands:
            daemons.append(subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL))
            time.sleep(0.5)
        until = time.monotonic() + 30
        while not ready(environment):
            if time.monotonic() > until:
                raise RuntimeError(f"the node of Slurm is not idle after 30 s: see the logs in {folder}")
            time.sleep(0.2)
        yield environment
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait(30)
