# Room: scripts. Sourced, never run.
# Job: what the scripts share: where things are, and how they talk.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${MEMTRACE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/memtrace}
venv=$cache/venv

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
