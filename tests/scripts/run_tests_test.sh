source "$(dirname "$0")/common.sh"

# What ./test does around ctest, with a ctest that has as many tests as $TESTS says and leaves a file if $LEAVES.
mkdir -p "$tree/scripts" "$tree/tests" "$tree/bin" "$tree/build/release"
cp "$root/scripts/common.sh" "$tree/scripts"
cat >"$tree/bin/ctest" <<'END'
#!/bin/bash
if [[ " $* " == *" -N "* ]]; then echo "Total Tests: $TESTS"; exit; fi
[[ -z ${LEAVES:-} ]] || mkdir -p "$TMPDIR/$LEAVES"
echo "100% tests passed in ${TMPDIR%/*}"
END
chmod +x "$tree/bin/ctest"
export TMPDIR=$tree/tmp TESTS=10
mkdir "$TMPDIR"
unset CI

# expect_of STATUS TEXT FUNCTION ARGUMENTS...: how a function of common.sh ends, and what it says, stderr too.
expect_of() {
  local status=0 text
  text=$(PATH=$tree/bin:$PATH bash -euo pipefail -c 'source "$0"; "$@"' "$tree/scripts/common.sh" "${@:3}" 2>&1) || status=$?
  if [[ $status != "$1" || $text != *"$2"* ]]; then
    printf '%s: expected status %s and\n%s\ngot status %s and\n%s\n' "${*:3}" "$1" "$2" "$status" "$text"
    exit 1
  fi
}

# A missing part is a failure that says what to install; one that was switched off is not.
parts() { printf '%-8s%-8s%-20s%s\n' images "$1" BELFRY_WITH_IMAGES 'libjpeg-dev libopencv-core-dev' lmdb found BELFRY_WITH_LMDB liblmdb-dev >"$tree/build/release/parts"; }
parts missing
expect_of 1 'images: apt-get install libjpeg-dev libopencv-core-dev, or switch it off: cmake --preset release -DBELFRY_WITH_IMAGES=OFF' require_parts release
parts off
expect_of 0 '' require_parts release
parts found
expect_of 0 '' require_parts release

# Tests that vanish are a failure; new ones only where changes are merged. Without a part there are fewer.
echo 10 >"$tree/tests/count"
expect_of 0 '10 fast tests; a full build has 10' compare_count release
TESTS=9 expect_of 1 'tests/count: expected 10 fast tests, got 9. If that is what the change is about: ./dev count' compare_count release
TESTS=11 expect_of 0 '11 fast tests; a full build has 10' compare_count release
CI=true TESTS=11 expect_of 1 'expected 10 fast tests, got 11' compare_count release
parts off
CI=true TESTS=9 expect_of 0 '9 fast tests; a full build has 10 (switched off here: images)' compare_count release

# What tests leave behind is a failure, and is removed.
expect_of 0 "100% tests passed in $TMPDIR" run_tests release
LEAVES=belfry-test-abc/x expect_of 1 'left these behind in the temporary directory:
    /belfry-test-abc' run_tests release
[[ -z $(ls -A "$TMPDIR") ]] || { echo "expected an empty temporary directory, got $(ls -A "$TMPDIR")"; exit 1; }
