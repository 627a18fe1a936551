# Purpose: what the scripts share: where things are, and how they talk.
# Sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${MEMTRACE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/memtrace}
venv=$cache/venv
deepspeed=$cache/deepspeed
accelerate=$cache/accelerate
datasets=$cache/datasets
peft=$cache/peft
mcp=$cache/mcp # the server and the client of memtrace mcp
notebook=$cache/notebook # Jupyter's kernel of Python, and the client that runs notebooks
polars=$cache/polars
quantised=$cache/quantised # packages that pack parameters into fewer bits
triton=$cache/triton
perfetto=$cache/perfetto
prometheus=$cache/prometheus
duckdb=$cache/duckdb
matplotlib=$cache/matplotlib
spark=$cache/spark
pytest=$cache/pytest
site=$cache/site # mkdocs-material, which makes a site of the documents
lint=$cache/lint # lizard, which measures functions, and mypy, which checks types
cuda=$cache/cuda # what NVIDIA's Python packages hold of the toolkit, where there is none
cuda_wheel=$cache/cuda_wheel # PyTorch's wheel for CUDA, unpacked

# stdout is data, stderr is talk.
say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# What is wrong, why, and the way out.
die() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  shift
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  exit 1
}

jobs_here() { nproc 2>/dev/null || echo 2; }

# configure_and_build PRESET [ARG...]: quiet while all is well, everything when it is not. Further
# arguments go to the configuration.
configure_and_build() {
  local preset=$1 log
  shift
  mkdir -p "$root/build"
  log=$root/build/$preset.log
  say "building $preset"
  if ! (cd "$root" && cmake --preset "$preset" "$@" && cmake --build --preset "$preset" -j "$(jobs_here)") \
    >"$log" 2>&1; then
    tail -n 80 "$log" >&2
    die "the build of preset '$preset' failed" "the whole output: $log"
  fi
}

site_packages=(mkdocs-material==9.8.2)
# Installs what scripts/site needs, once. Returns 1 if pip cannot get it; its output is in $cache/pip-site.log.
install_site() {
  local stamp=$site/memtrace-requirements log=$cache/pip-site.log
  [[ $(cat "$stamp" 2>/dev/null) == "${site_packages[*]}" && -x $site/bin/mkdocs ]] && return 0
  mkdir -p "$cache"
  exec 8>"$cache/lock-site"
  flock 8
  say "installing ${site_packages[*]}"
  { python3 -m venv --clear "$site" && "$site/bin/pip" install --quiet "${site_packages[@]}"; } >"$log" 2>&1 || return 1
  printf '%s' "${site_packages[*]}" >"$stamp"
  did+=("${site_packages[*]}")
  exec 8>&-
}

did=() # what was installed
# apt_install LOG PACKAGE...: as root. RUNLEVEL: a service that comes with a package is not started.
apt_install() {
  local log=$1
  shift
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
    apt-get install -y -q --no-install-recommends "$@" >"$log" 2>&1
}

# install_packages PACKAGE...: those that are missing, by apt-get; says so in did. Two scripts at once take turns.
install_packages() {
  local missing=() package as_root=() log
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    die "this is not a Debian-like machine (no apt-get), so packages cannot be installed here" \
      "install what these Debian packages hold, then build with cmake: $*"
  for package in "$@"; do
    # A package such as python3-venv only fills in the system's Python; where another python3 comes first
    # in PATH and has venv, the system's is not needed, but it is small and does no harm.
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "packages are missing and this is not root: ${missing[*]}" \
        "run as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  mkdir -p "$cache"
  exec 5>"$cache/lock-apt"
  flock 5
  say "installing packages: ${missing[*]}"
  log=$(mktemp)
  # The lists of packages are fetched only if those of the machine do not serve.
  if ! apt_install "$log" "${missing[@]}" &&
    ! { "${as_root[@]}" apt-get update -q >"$log" 2>&1 && apt_install "$log" "${missing[@]}"; }; then
    tail -n 20 "$log" >&2
    die "apt-get could not install: ${missing[*]}" "its output is above; the whole of it: $log"
  fi
  exec 5>&-
  rm -f "$log"
  did+=("${missing[@]}")
}
