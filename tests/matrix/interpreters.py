"""Purpose: finds CPythons of several versions on this machine, or in roots that debootstrap makes.

A root is entered by chroot in a mount namespace of its own, in which the cache and the repository have the same paths
as outside. So a command is the same inside and outside, but for the words that enter the root.
"""
import glob
import os
import shutil
import subprocess

# The release of Debian whose python3 is this version.
RELEASES = {"3.9": "bullseye", "3.11": "bookworm", "3.13": "trixie", "3.14": "sid"}
# ROOT, number of folders, folders to bind, command. Of /etc, what a download needs.
ENTER = """
root=$1 && shift && for name in proc sys dev; do mount --rbind "/$name" "$root/$name" || exit 125; done
bind() { if [ -d "$1" ]; then mkdir -p "$root$1"; else mkdir -p "$root${1%/*}" && touch "$root$1"; fi &&
  mount --bind "$1" "$root$1" || exit 125; }
bind /etc/resolv.conf; [ ! -d /etc/ssl/certs ] || bind /etc/ssl/certs
count=$1; shift
while [ "$count" -gt 0 ]; do bind "$1"; shift; count=$((count - 1)); done
exec chroot "$root" "$@"
"""


class Unavailable(Exception):
    """Why a combination cannot be had on this machine."""


class Interpreter:
    def __init__(self, path, root=None, shared=()):
        self.path, self.root, self.shared = path, root, shared

    def entering(self):
        """Returns the words before a command of this interpreter."""
        if self.root is None:
            return []
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "enter", self.root,
                str(len(self.shared)), *self.shared]

    def ask(self, code, path=None):
        done = subprocess.run([*self.entering(), path or self.path, "-c", code], capture_output=True, text=True, check=False,
                              env={**os.environ, "LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Unavailable(f"{path or self.path}: {done.stderr.strip().splitlines()[-1:]}")
        return done.stdout.strip()


def candidates(version):
    """Yields paths of python3 that may be this version: of PATH, and of pyenv."""
    name = "python" + version
    if (found := shutil.which(name)) is not None:
        yield found
    pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    yield from sorted(glob.glob(f"{pyenv}/versions/*/bin/{name}"))


def is_version(path, version):
    # ensurepip: Debian's python3 has it in a package of its own.
    code = ("import sys, sysconfig, venv, ensurepip; "
            "print('%d.%d' % sys.version_info[:2] + ('t' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''))")
    done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == version


def make_root(version, cache, log):
    """Returns the root with this version, which debootstrap makes if it is not there."""
    release = RELEASES.get(version)
    if release is None:
        raise Unavailable(f"no CPython {version} in PATH or pyenv, and none in the releases of Debian that are tried")
    root = os.path.join(cache, "roots", release)
    stamp = os.path.join(root, "memtrace-made")
    if not os.path.exists(stamp):
        if os.geteuid() != 0 or shutil.which("debootstrap") is None:
            raise Unavailable(f"no CPython {version} in PATH or pyenv; as root, debootstrap makes one")
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(os.path.dirname(root), exist_ok=True)
        with open(log, "w", encoding="utf-8") as out:
            done = subprocess.run(["debootstrap", "--variant=minbase", "--include=python3-venv", release, root],
                                  stdout=out, stderr=out, check=False)
        if done.returncode:
            raise Unavailable(f"debootstrap could not make {release}: {log}")
        with open(stamp, "w", encoding="utf-8"):
            pass
    return root


def find(version, cache, shared, log):
    """Returns an interpreter of this version. Raises Unavailable with the reason if there is none."""
    for path in candidates(version):
        if is_version(path, version):
            return Interpreter(path)
    found = Interpreter("/usr/bin/python3", make_root(version, cache, log), shared)
    said = found.ask("import sys; print('%d.%d' % sys.version_info[:2])")
    if said != version:
        raise Unavailable(f"{found.root} has CPython {said}, not {version}: remove it, and it is made anew")
    return found
