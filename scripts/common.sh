# Functions of the commands at the root. Source it; the working directory becomes the root.
# Everything printed here goes to stderr: stdout belongs to the program that a command runs.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
verbose=${BELFRY_VERBOSE:-}  # not empty: say everything (./test -v, ./run -v)

# prepare PRESET GROUP...: packages and a configured build/PRESET.
prepare() {
  local preset=$1 stamp=build/$1/.configured
  scripts/packages "${@:2}"
  # Ninja reruns CMake when a CMakeLists.txt changes, but does not know of the presets, nor of a library that was
  # missing and has been installed since.
  [[ -e $stamp && -e build/$preset/parts && ! CMakePresets.json -nt $stamp && -z $(parts "$preset" missing) ]] && return
  local log
  log=$(cmake --preset "$preset" 2>&1) || { echo "$log" >&2; return 1; }
  [[ -z $verbose ]] || echo "$log" >&2
  touch "$stamp"
}

# build PRESET [TARGET...]: shows progress as one line on a terminal, otherwise a line every half minute; and the
# compiler's messages.
build() {
  local preset=$1 start=$SECONDS failed=0
  shift
  if [[ -n $verbose || -t 2 ]]; then
    (cd "build/$preset" && NINJA_STATUS="building build/$preset [%f/%t] " ninja "$@" >&2) || failed=1
  else
    (cd "build/$preset" && ninja "$@" 2>&1) | show_progress "building build/$preset" >&2 || failed=1
    echo "building build/$preset: $([[ $failed == 0 ]] && echo done || echo FAILED) in $((SECONDS - start)) s" >&2
  fi
  [[ $failed == 0 ]] || { echo "build/$preset: the build failed (see above)" >&2; return 1; }
}
show_progress() {  # WHAT: prints ninja's lines "[3/10] ..." only now and then, all others at once
  local line start=$SECONDS every=${BELFRY_PROGRESS_SECONDS:-30} next
  next=$((start + every))
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\  ]]; then
      ((SECONDS >= next)) || continue
      next=$((SECONDS + every))
      echo "$1: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} after $((SECONDS - start)) s"
    elif [[ $line != "ninja: no work to do." ]]; then
      echo "$line"
    fi
  done
}

# parts PRESET STATE: the optional parts that are found, missing or off in a configured build.
parts() { awk -v state="$2" '$2 == state { print $1 }' "build/$1/parts" 2>/dev/null | paste -sd ' '; }

# require_parts PRESET: fails if an optional part is missing that was not switched off by name.
require_parts() {
  [[ -n $(parts "$1" missing) ]] || return 0
  echo "build/$1: optional parts are missing, and so are their tests:" >&2
  awk '$2 == "missing" { name = $1; switch = $3; $1 = $2 = $3 = ""; sub(/^ */, "")
    print "    " name ": apt-get install " $0 ", or switch it off: cmake --preset PRESET -D" switch "=OFF" }' \
    "build/$1/parts" | sed "s/ PRESET / $1 /" >&2
  return 1
}

# require_part PRESET PART WHO: fails if a build lacks an optional part that WHO needs, and says how to get it.
require_part() {
  local name state switch packages
  while read -r name state switch packages; do
    [[ $name == "$2" && $state != found ]] || continue
    echo "$3: expected a build with the optional part '$2', got one where it is $state." \
      "Remedy: apt-get install $packages, then cmake --preset $1 -D$switch=AUTO" >&2
    return 1
  done <"build/$1/parts"
}

# count_tests PRESET: how many fast tests a build has.
count_tests() { ctest --test-dir "build/$1" -N -LE '^slow$' | sed -n 's/^Total Tests: //p'; }

# compare_count PRESET: compares the number of tests with that of a build with all parts (tests/count).
# Fewer is a failure, since a test that vanishes does not fail; more only in .ci/run, so that the number is right
# when a change is merged. `./dev count` writes it.
compare_count() {
  local here full off
  here=$(count_tests "$1")
  full=$(<tests/count)
  off=$(parts "$1" off)
  echo "$here fast tests; a full build has $full${off:+ (switched off here: $off)}"
  if [[ -z $off ]] && { ((here < full)) || [[ $here != "$full" && -n ${CI:-} ]]; }; then
    echo "tests/count: expected $full fast tests, got $here. If that is what the change is about: ./dev count" >&2
    return 1
  fi
}

# run_tests PRESET [CTEST ARGUMENTS]: the fast tests, unless a label is asked for. Shown are the tests that fail, in
# full, and the summary; on a terminal also how far it is. Whatever they leave in the temporary directory, one of their
# own, is a failure.
run_tests() {
  local preset=$1 options=(-LE '^slow$') argument temporary failed=0
  shift
  for argument in "$@"; do [[ $argument == -L* || $argument == --label* ]] && options=(); done
  options+=(--test-dir "build/$preset" -j "$(nproc)" --output-on-failure --no-tests=error)
  temporary=$(mktemp -d)
  trap "rm -rf '$temporary'" EXIT  # also if it is interrupted
  TMPDIR=$temporary run_ctest "${options[@]}" "$@" || failed=$?
  # A test that fails may leave something; then only the failure matters.
  if [[ $failed == 0 && -n $(ls -A "$temporary") ]]; then
    echo "the tests left these behind in the temporary directory:" >&2
    (cd "$temporary" && find . -mindepth 1 -maxdepth 2 | sort | head -20 | sed 's,^\.,    ,') >&2
    failed=1
  fi
  return $failed
}
run_ctest() {  # CTEST ARGUMENTS
  if [[ -n $verbose ]]; then
    ctest "$@"
  elif [[ -t 1 ]]; then
    ctest --no-label-summary --progress "$@"
  else
    ctest --no-label-summary "$@" |
      sed -uE '/^(Internal ctest changing into directory:|Test project) /d; /^ +Start +[0-9]+: /d
        /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: .* Passed +[0-9.]+ sec *$/d'
  fi
}
