# What the commands at the root share. Source it; the working directory becomes the root.
# Everything printed here goes to stderr: stdout belongs to the program that a command runs.
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# prepare PRESET GROUP...: packages and a configured build/PRESET.
prepare() {
  local preset=$1 stamp=build/$1/.configured
  scripts/packages "${@:2}"
  # Ninja reruns CMake when a CMakeLists.txt changes, but does not know of the presets.
  [[ -e $stamp && ! CMakePresets.json -nt $stamp ]] && return
  echo "configuring build/$preset" >&2
  local log
  log=$(cmake --preset "$preset" 2>&1) || { echo "$log" >&2; return 1; }
  touch "$stamp"
}

# build PRESET [TARGET...]: on a terminal one line of progress, elsewhere only what the compiler has to say.
build() {
  local preset=$1 start=$SECONDS failed=0 log
  shift
  if [[ -t 2 ]]; then
    (cd "build/$preset" && NINJA_STATUS="building $preset [%f/%t] " ninja "$@" >&2) || failed=1
  else
    echo "building build/$preset" >&2
    log=$(cd "build/$preset" && ninja --quiet "$@" 2>&1) || failed=1
    [[ -z $log || $log == "ninja: no work to do." ]] || echo "$log" >&2
  fi
  [[ $failed == 0 ]] || { echo "build/$preset: the build failed (see above)" >&2; return 1; }
  [[ $SECONDS == "$start" ]] || echo "built build/$preset in $((SECONDS - start)) s" >&2
}

# run_tests PRESET [CTEST ARGUMENTS]: the fast tests, unless a label is asked for.
run_tests() {
  local preset=$1 filter=(-LE '^slow$') argument
  shift
  for argument in "$@"; do [[ $argument == -L* || $argument == --label* ]] && filter=(); done
  [[ -t 1 ]] && filter+=(--progress)
  ctest --test-dir "build/$preset" -j "$(nproc)" --output-on-failure --no-tests=error "${filter[@]}" "$@"
}
