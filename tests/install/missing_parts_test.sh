# An installation without an optional part says so wherever somebody asks for it:
# missing_parts_test.sh SOURCE CMAKE GENERATOR COMPILER
# Nothing is built: headers and CMake files are installed from a build folder that is only configured.
set -euo pipefail
source=$1 cmake=$2 generator=$3 compiler=$4
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
cd "$scratch"

# expect TEXT STATUS COMMAND...: how it ends, and what it says in lines joined by blanks.
expect() {
  local status=0 said
  said=$("${@:3}" 2>&1 | tr -s ' \n' ' ') || status=1
  if [[ $said != *"$1"* || $status != "$2" ]]; then
    printf '%s: expected status %s and\n%s\ngot status %s and\n%s\n' "${*:3}" "$2" "$1" "$status" "$said"
    exit 1
  fi
}

expect 'images off BELFRY_WITH_IMAGES libjpeg-dev' 0 "$cmake" -G "$generator" -S "$source" -B build \
  -DCMAKE_CXX_COMPILER="$compiler" -DBUILD_TESTING=OFF \
  -DBELFRY_WITH_IMAGES=OFF -DBELFRY_WITH_LMDB=OFF -DBELFRY_WITH_ZEROMQ=OFF
expect '' 0 "$cmake" --install build --component development --prefix prefix

# The names are there, and only using one is an error.
cat >fine.cc <<'END'
#include <belfry/belfry.h>
extern const belfry::OnBadImage skip;
const belfry::OnBadImage skip = belfry::OnBadImage::skip;
belfry::Augmentor train() { return belfry::pad(4) | belfry::random_crop(32) | belfry::flip_horizontal() | belfry::normalize({0}, {1}); }
END
expect '' 0 "$compiler" -std=c++20 -Wall -Wextra -Werror -Iprefix/include -c fine.cc -o fine.o
cat >uses.cc <<'END'
#include <belfry/belfry.h>
belfry::Flow folder() { return belfry::image_folder("photos", {.decode = false}); }
belfry::Augmentor turned() { return belfry::rotate(90); }
belfry::Augmentor darker() { return belfry::random_gamma(2); }
belfry::Flow lmdb() { return belfry::from_lmdb("points.lmdb"); }
belfry::Flow remote() { return belfry::from_remote("tcp://127.0.0.1:5000"); }
auto* const address = &belfry::image_files;
belfry::InputSourcePtr input() { return belfry::ZMQInput("tcp://127.0.0.1:5000"); }
END
"$compiler" -std=c++20 -Iprefix/include -c uses.cc -o uses.o 2>said && { echo 'expected errors in uses.cc, got none'; exit 1; }
for name in image_folder image_files rotate random_gamma from_lmdb from_remote ZMQInput; do
  part=$(case $name in image* | r*_gamma | rotate) echo images ;; *lmdb) echo lmdb ;; *) echo remote ;; esac)
  grep -E "error: .*Belfry was built without its part '$part': it was switched off with BELFRY_WITH_" -A 1 said | grep -q "$name" ||
    { echo "expected an error that names the part of $name, got"; cat said; exit 1; }
done
# Every function of such a header says it, however it is declared.
plain=$(grep -nE '^[A-Za-z_][^=({]* [a-z_0-9]+\(' -r prefix/include/belfry/dataflow/{image/codecs,image/opencv,lmdb,remote} | grep -v :BELFRY_WITHOUT_ || true)
[[ -z $plain ]] || { printf 'expected an error from each function, but these say nothing:\n%s\n' "$plain"; exit 1; }

# find_package says why.
mkdir project
find_in_project() {
  rm -rf project/build
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(Asks NONE)\nfind_package(Belfry %s)\n%s\n' "$1" \
    'message(STATUS "found: ${Belfry_FOUND}, images: ${Belfry_images_FOUND}")' >project/CMakeLists.txt
  "$cmake" -G "$generator" -S project -B project/build -DCMAKE_PREFIX_PATH="$scratch/prefix" \
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
}
expect "[Belfry component 'images'] Belfry was built without it: it was switched off with BELFRY_WITH_IMAGES." 1 \
  find_in_project 'REQUIRED COMPONENTS images'
expect "[Belfry component 'gpu'] There is no such component; there are images, lmdb, remote." 1 \
  find_in_project 'REQUIRED COMPONENTS gpu'
expect 'found: 0, images: FALSE' 0 find_in_project 'QUIET COMPONENTS images'
