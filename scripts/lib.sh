# Shared by the scripts here: sourced, never run. What is needed is named once: packages.apt, requirements.txt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export DEBIAN_FRONTEND=noninteractive PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
export CCACHE_DIR=${CCACHE_DIR:-$HOME/.cache/ccache} CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-4G}
# A clone in another folder finds the same objects.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
jobs=$(nproc)
python=.venv/bin/python
stamps=build/stamps

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 4; }
now_ms() { date +%s%3N; }
seconds_since() { awk -v a="$1" -v b="$(now_ms)" 'BEGIN { printf "%.1f s", (b - a) / 1000 }'; }

# quietly TITLE LOG COMMAND…: one line while it works and its duration; the log's end only when it fails.
quietly() {
  local title=$1 log=$2 began
  shift 2
  began=$(now_ms)
  mkdir -p "$(dirname "$log")"
  if "$@" >"$log" 2>&1 </dev/null; then
    say "· $title: $(seconds_since "$began")"
  else
    tail -n 40 "$log" >&2
    die "$title failed; all of its output is in $log"
  fi
}

content_hash() { cat "$@" | sha256sum | cut -d' ' -f1; }
# fresh NAME HASH: whether NAME was finished for this very content.
fresh() { [ "$(cat "$stamps/$1" 2>/dev/null)" = "$2" ]; }
finished() { mkdir -p "$stamps"; printf '%s\n' "$2" >"$stamps/$1"; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo -n --preserve-env=DEBIAN_FRONTEND "$@"
  else die "packages are missing and this user may not install them; as root: $*"
  fi
}

install_system_packages() {
  local wanted missing
  wanted=$(grep -v '^#' scripts/packages.apt)
  # shellcheck disable=SC2086  # one word a package
  missing=$(comm -23 <(sort <<<"$wanted") \
    <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p' | sort -u))
  [ -n "$missing" ] || return 0
  # shellcheck disable=SC2086
  if ! apt-cache show $missing >/dev/null 2>&1; then
    quietly "package lists" build/logs/apt-update.log as_root apt-get update
  fi
  # shellcheck disable=SC2086
  quietly "system packages: $(tr '\n' ' ' <<<"$missing")" build/logs/apt.log install_packages $missing
}

# Lists may be older than the archive: then refresh them and try once more.
install_packages() {
  as_root apt-get install -y --no-install-recommends "$@" && return
  as_root apt-get update
  as_root apt-get install -y --no-install-recommends "$@"
}

install_python_packages() {
  local wanted
  wanted=$(content_hash scripts/requirements.txt)
  [ -x "$python" ] && fresh python-packages "$wanted" && return
  [ -x "$python" ] || quietly "virtual environment" build/logs/venv.log /usr/bin/python3 -m venv .venv
  quietly "Python packages" build/logs/pip.log "$python" -m pip install -r scripts/requirements.txt
  finished python-packages "$wanted"
}

# The package is used where it lies: installing it makes its name and command known, once; each build then puts the
# compiled parts (the extension, the worker) beside the Python files.
install_package() {
  local description
  description=$(content_hash pyproject.toml)
  [ -x .venv/bin/mqlab ] && fresh package "$description" && return
  quietly "the package and its command" build/logs/package.log \
    "$python" -m pip install --no-build-isolation --no-deps -e . --config-settings=wheel.cmake=false --config-settings=editable.mode=inplace
  finished package "$description"
}

build() {
  local log=build/logs/build.log began
  began=$(now_ms)
  if [ ! -f build/release/build.ninja ] || ! fresh configured "$(content_hash CMakePresets.json)"; then
    quietly "configuring" build/logs/configure.log \
      cmake --preset release -DMQLAB_PYTHON=ON -DMQLAB_TESTS=ON -DPython_EXECUTABLE="$PWD/$python"
    finished configured "$(content_hash CMakePresets.json)"
  fi
  ninja -C build/release -n 2>/dev/null | grep -q 'no work to do' || say "· building (the first time takes minutes)"
  if ! ninja -C build/release -j "$jobs" >"$log" 2>&1 </dev/null; then
    grep -A12 -m3 'FAILED\|error:' "$log" >&2 || tail -n 20 "$log" >&2
    die "the build failed; all of its output is in $log"
  fi
  cmake --install build/release --component python --prefix bindings >>"$log"
  say "· build: $(seconds_since "$began")"
}

set_up() {
  local began jars=
  began=$(now_ms)
  install_system_packages
  install_python_packages
  if ! scripts/fetch-kafka --have; then
    say "· fetching Kafka's jars beside the build"
    mkdir -p build/logs
    scripts/fetch-kafka >build/logs/fetch-kafka.log 2>&1 </dev/null & jars=$!
  fi
  install_package
  build
  if [ -n "$jars" ] && ! wait "$jars"; then
    tail -n 5 build/logs/fetch-kafka.log >&2
    die "Kafka's jars could not be fetched"
  fi
  say "· set up: $(seconds_since "$began")"
}
