source "$(dirname "$0")/common.sh"

# Stand-ins for the tools, which say what they were asked and what they are told to say.
mkdir "$tree/bin"
stand_in() {
  printf '%s\n' '#!/usr/bin/env bash' "echo \"$1 \$*\" >>'$tree/asked'" "cat '$tree/$1.out'" "exit \$(cat '$tree/$1.status')" \
    >"$tree/bin/$1"
  chmod +x "$tree/bin/$1"
}
stand_in ctest
stand_in ninja
says() {  # TOOL STATUS LINE...
  printf '%s\n' "${@:3}" >"$tree/$1.out"
  echo "$2" >"$tree/$1.status"
}

# shows STATUS TEXT COMMAND: what a command of scripts/common.sh prints, and how it ends.
shows() {
  local status=0 text
  text=$(PATH=$tree/bin:$PATH bash -c "set -euo pipefail; source '$root/scripts/common.sh'; cd '$tree'; $3" 2>&1) || status=$?
  text=$(sed -E 's/(in|after) [0-9]+ s$/\1 N s/' <<<"$text")
  if [[ $status != "$1" || $text != "$2" ]]; then
    printf '%s: expected status %s and\n%s\ngot status %s and\n%s\n' "$3" "$1" "$2" "$status" "$text"
    exit 1
  fi
}
mkdir -p "$tree/build/release"

says ninja 0 'ninja: no work to do.'
shows 0 'building build/release: done in N s' 'build release'
says ninja 1 '[1/9] Building a.o' 'FAILED: a.o' 'a.cc:1: error'
shows 1 'FAILED: a.o
a.cc:1: error
building build/release: FAILED in N s
build/release: the build failed (see above)' 'build release all'
shows 1 '[1/9] Building a.o
FAILED: a.o
a.cc:1: error
build/release: the build failed (see above)' 'verbose=1; build release all'
[[ $(grep -cx 'ninja all' "$tree/asked") == 2 ]]
says ninja 0 '[1/9] Building a.o' 'a.cc:1: a remark' '[9/9] Linking a'
shows 0 'building build/release: 1 of 9 after N s
a.cc:1: a remark
building build/release: 9 of 9 after N s
building build/release: done in N s' 'BELFRY_PROGRESS_SECONDS=0; build release all'

passing=('Internal ctest changing into directory: /x' 'Test project /x' '      Start   1: Array.Holds'
  '  1/200 Test   #1: Array.Holds ......................   Passed    0.01 sec')
says ctest 0 "${passing[@]}" '' '100% tests passed, 0 tests failed out of 200' '' 'Total Test time (real) =   1.00 sec'
shows 0 '
100% tests passed, 0 tests failed out of 200

Total Test time (real) =   1.00 sec' 'run_tests release -R Array'
grep -q '^ctest --no-label-summary -LE ^slow\$ .* -R Array$' "$tree/asked"
shows 0 "$(cat "$tree/ctest.out")" 'verbose=1; run_tests release -R Array'

says ctest 8 "${passing[@]}" '  2/200 Test   #2: Shape.Broadcasts ............***Failed    0.02 sec' 'shape_test.cc:3: Failure' '' \
  '99% tests passed, 1 tests failed out of 200'
shows 8 '  2/200 Test   #2: Shape.Broadcasts ............***Failed    0.02 sec
shape_test.cc:3: Failure

99% tests passed, 1 tests failed out of 200' 'run_tests release -L slow'
grep -q '^ctest --no-label-summary --test-dir .*-L slow$' "$tree/asked"
