# What the commands at the root share. Source it; the working directory becomes the root.
# Everything printed here goes to stderr: stdout belongs to the program that a command runs.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
verbose=${BELFRY_VERBOSE:-}  # not empty: say everything (./test -v, ./run -v)

# prepare PRESET GROUP...: packages and a configured build/PRESET.
prepare() {
  local preset=$1 stamp=build/$1/.configured
  scripts/packages "${@:2}"
  # Ninja reruns CMake when a CMakeLists.txt changes, but does not know of the presets.
  [[ -e $stamp && ! CMakePresets.json -nt $stamp ]] && return
  local log
  log=$(cmake --preset "$preset" 2>&1) || { echo "$log" >&2; return 1; }
  [[ -z $verbose ]] || echo "$log" >&2
  touch "$stamp"
}

# build PRESET [TARGET...]: one line of progress, and what the compiler has to say.
build() {
  local preset=$1 start=$SECONDS failed=0 log
  shift
  if [[ -n $verbose || -t 2 ]]; then
    (cd "build/$preset" && NINJA_STATUS="building build/$preset [%f/%t] " ninja "$@" >&2) || failed=1
  else
    printf 'building build/%s ...' "$preset" >&2
    log=$(cd "build/$preset" && ninja --quiet "$@" 2>&1) || failed=1
    printf ' %s in %d s\n' "$([[ $failed == 0 ]] && echo done || echo FAILED)" $((SECONDS - start)) >&2
    [[ -z $log || $log == "ninja: no work to do." ]] || echo "$log" >&2
  fi
  [[ $failed == 0 ]] || { echo "build/$preset: the build failed (see above)" >&2; return 1; }
}

# run_tests PRESET [CTEST ARGUMENTS]: the fast tests, unless a label is asked for. Shown are the tests that fail, in
# full, and the summary; on a terminal also how far it is.
run_tests() {
  local preset=$1 options=(-LE '^slow$') argument
  shift
  for argument in "$@"; do [[ $argument == -L* || $argument == --label* ]] && options=(); done
  options+=(--test-dir "build/$preset" -j "$(nproc)" --output-on-failure --no-tests=error)
  if [[ -n $verbose ]]; then
    ctest "${options[@]}" "$@"
  elif [[ -t 1 ]]; then
    ctest "${options[@]}" --no-label-summary --progress "$@"
  else
    ctest "${options[@]}" --no-label-summary "$@" |
      sed -uE '/^(Internal ctest changing into directory:|Test project) /d; /^ +Start +[0-9]+: /d
        /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: .* Passed +[0-9.]+ sec *$/d'
  fi
}
