# BELFRY_WITH_... of an optional part means what CMake takes it for, and configuration says what came of it:
# optional_parts_test.sh SOURCE CMAKE GENERATOR
set -euo pipefail
source=$1 cmake=$2 generator=$3
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

# One part whose headers are there, and one of whose headers one is not.
touch "$scratch/here.h" "$scratch/there.h"
cat >"$scratch/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(parts NONE)
set(CMAKE_INCLUDE_PATH "$scratch")
include($source/cmake/BelfryOptionalPart.cmake)
belfry_optional_part(HERE heres FOLDERS here too PURPOSE "is installed" HEADERS here.h there.h PACKAGES libhere-dev libhere2-dev)
belfry_optional_part(GONE gones FOLDERS gone PURPOSE "what is not" HEADERS here.h belfry_no_such_header.h PACKAGES libgone-dev)
belfry_report_parts()
message(STATUS "here: \${BELFRY_HAS_HERE}, gone: \${BELFRY_HAS_GONE}, left out: \${belfry_left_out}")
message(STATUS "folders: \${belfry_folders_heres}; why: \${belfry_why_gones}.")
END

# expect TEXT SETTING...: what a configuration with these settings says, in lines joined by blanks.
expect() {
  local said
  rm -rf "$scratch/build"
  said=$("$cmake" -G "$generator" -S "$scratch" -B "$scratch/build" "${@:2}" 2>&1 | tr -s ' \n' ' ') || true
  if [[ $said != *"$1"* ]]; then
    printf '%s: expected\n%s\ngot\n%s\n' "${*:2}" "$1" "$said"
    exit 1
  fi
}

expect 'here: TRUE, gone: FALSE, left out: gone'
expect 'here: TRUE, gone: FALSE, left out: gone' -DBELFRY_WITH_HERE=auto -DBELFRY_WITH_GONE=auto
for true in ON on TRUE 1; do
  expect 'here: TRUE, gone: FALSE' -DBELFRY_WITH_HERE=$true
  expect '[BELFRY_WITH_GONE] expected what is not to be built, got a machine without belfry_no_such_header.h. Install' -DBELFRY_WITH_GONE=$true
done
for false in OFF no 0 ''; do
  expect 'here: FALSE, gone: FALSE, left out: here;too;gone' -DBELFRY_WITH_HERE=$false -DBELFRY_WITH_GONE=$false
done
expect "[BELFRY_WITH_HERE] expected AUTO, ON or OFF, got 'maybe'." -DBELFRY_WITH_HERE=maybe

# The table, on the screen and in the file that scripts read.
expect 'heres found BELFRY_WITH_HERE libhere-dev libhere2-dev -- gones missing BELFRY_WITH_GONE libgone-dev'
[[ $(awk '{print $1, $2}' "$scratch/build/parts") == $'heres found\ngones missing' ]] || { cat "$scratch/build/parts"; exit 1; }
expect 'gones off BELFRY_WITH_GONE libgone-dev' -DBELFRY_WITH_GONE=OFF
expect 'Debian: apt-get install libgone-dev' -DBELFRY_WITH_GONE=ON

# What lies in its folders, and why it is not there.
expect 'folders: here|too; why: belfry_no_such_header.h: not found. Install what is missing (Debian: apt-get install libgone-dev)'
expect 'why: it was switched off with BELFRY_WITH_GONE.' -DBELFRY_WITH_GONE=OFF
