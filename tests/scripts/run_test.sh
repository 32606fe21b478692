source "$(dirname "$0")/common.sh"

# ./run in a build without a part: a clone with two examples, of which one needs images, and a build that says so.
mkdir -p "$tree/scripts" "$tree/bin" "$tree/build/release/examples"
cp "$root/run" "$tree"
cp "$root/scripts/common.sh" "$tree/scripts"
for tool in scripts/packages bin/cmake bin/ninja build/release/examples/{gan,image_folder}; do
  printf '#!/bin/sh\necho "%s $*"\n' "${tool##*/}" >"$tree/$tool"
  chmod +x "$tree/$tool"
done
file examples/gan.cc '// Two networks.'
file examples/image_folder.cc '// Pictures.'
touch "$tree/CMakePresets.json" "$tree/build/release/.configured"

# runs NAME STATUS TEXT: how ./run NAME ends, and what its last line is.
runs() {
  local status=0 text
  text=$(PATH=$tree/bin:$PATH "$tree/run" "$1" 2>&1 | tail -1) || status=$?
  if [[ $status != "$2" || $text != "$3" ]]; then
    printf '%s: expected status %s and\n%s\ngot status %s and\n%s\n' "$1" "$2" "$3" "$status" "$text"
    exit 1
  fi
}
for state in missing off; do
  file build/release/parts "images  $state     BELFRY_WITH_IMAGES  libjpeg-dev libopencv-core-dev"
  file build/release/examples/left_out 'image_folder images'
  runs gan 0 'gan '
  runs image_folder 1 "run: image_folder: expected a build with the optional part 'images', got one where it is $state. Remedy: apt-get install libjpeg-dev libopencv-core-dev, then cmake --preset release -DBELFRY_WITH_IMAGES=AUTO"
done
file build/release/parts 'images  found   BELFRY_WITH_IMAGES  libjpeg-dev'
: >"$tree/build/release/examples/left_out"
runs image_folder 0 'image_folder '
