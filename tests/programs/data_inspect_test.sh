# `belfry data inspect` shows what is in a flow, and ends as it should: data_inspect_test.sh BELFRY IMAGES
# IMAGES is 1 if the build has that part.
set -euo pipefail
belfry=$1 images=$2
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
cd "$scratch"

fail() {
  echo "$*"
  cat out err
  exit 1
}

# expect STATUS STDERR COMMAND...: how it ends, and what it writes to stderr, which is nothing or one line.
expect() {
  local status=0
  "${@:3}" >out 2>err || status=$?
  [[ $status == "$1" ]] || fail "${*:3}: expected status $1, got $status"
  if [[ -z $2 ]]; then
    [[ ! -s err ]] || fail "${*:3}: expected nothing on stderr"
  else
    [[ $(wc -l <err) == 1 ]] || fail "${*:3}: expected one line on stderr"
    grep -qE -- "$2" err || fail "${*:3}: expected a line like $2"
  fi
}

# shows PATTERN...: stdout has a line like each of them.
shows() {
  local pattern
  for pattern in "$@"; do grep -qE -- "$pattern" out || fail "expected a line like $pattern"; done
}

expect 0 '' "$belfry" data inspect 'fake(side=8, size=20) | shuffle(seed=1) | batch(4)' --show 2
shows '\| shuffle \| batch\(4\)$' '^5 point\(s\) per pass, in order only$' '^point 0: f32 \[4, 8, 8, 3\] ' '^point 1: ' \
  '^components over 5 point\(s\):$' '^  1  i32 \[4\] ' '^speed: [0-9]+ points/s, '
[[ $(grep -c '^point ' out) == 2 ]] || fail 'expected the two points of --show'

expect 0 '' "$belfry" data inspect 'fake(side=8) | repeat' --points 7 --show 1
shows '^endless points per pass' '^components over 7 point\(s\):$'

expect 0 '' "$belfry" data inspect 'fake(side=8)' --points 7 --show 0
shows '^components over 7 point\(s\):$'
! grep -q '^point ' out || fail 'expected no points with --show 0'

expect 0 '' "$belfry" data inspect 'fake(side=8, size=20) | pad(2) | random_resized_crop(6) | flip | normalize(0.5, 0.5)' --show 0
shows '^  0  f32 \[6, 6, 3\] '

expect 0 '' "$belfry" data inspect 'fake(side=8, size=20) | batch(4)' --sheet sheet.png --images 6
shows '^sheet\.png: 6 image\(s\)$'
[[ $(head -c 4 sheet.png | od -An -c | tr -d ' ') == '211PNG' ]] || fail 'expected sheet.png to be a PNG'
expect 1 "^\[inspect\] expected a folder for the sheet 'no/such/sheet.png'" "$belfry" data inspect 'fake(side=8)' --sheet no/such/sheet.png
expect 1 "^\[sheet\] expected a name that ends in .png, got 'x.bmp'" "$belfry" data inspect 'fake(side=8)' --sheet x.bmp
[[ ! -s out ]] || fail 'expected the name of the sheet to be checked before the work'
expect 1 '^\[sheet\] expected points with an image' "$belfry" data inspect 'fake | select(1)' --sheet none.png
[[ ! -e none.png ]] || fail 'expected no sheet without images'
if [[ $images != 1 ]]; then
  expect 1 "got 'rotate'\..* This build lacks the words of: images" "$belfry" data inspect 'fake | rotate(3)'
  expect 1 "got 'image_folder'\..* This build lacks the words of: images" "$belfry" data inspect 'image_folder(photos)'
fi

expect 0 '' "$belfry" data words
shows '^sources' '^  fake\(side=32, classes=10, size=1000\)' '^  batch\(points=32, remainder=drop\)'

expect 0 '' "$belfry" --version
shows '^belfry [0-9]+\.[0-9]+\.[0-9]+$' '^  images: (found|missing|off)$' '^  lmdb: (found|missing|off)$' '^  remote: (found|missing|off)$'
[[ $images == $(grep -c 'images: found' out) ]] || fail 'expected --version to say whether there are images'

expect 0 '' "$belfry" --help
expect 0 '' "$belfry" data inspect --help
shows 'SPEC' '--sheet'

# What the command line does not understand is 2, what goes wrong afterwards 1.
expect 2 '^belfry: .* See belfry --help\.$' "$belfry"
expect 2 '^belfry: ' "$belfry" data
expect 2 '^belfry: .*SPEC' "$belfry" data inspect
expect 2 '^belfry: .*--show' "$belfry" data inspect fake --show -1
expect 2 '^belfry: .*--nonsense' "$belfry" data inspect fake --nonsense
expect 1 "^\[flow\] expected the name of a source, got 'fak'\. Did you mean 'fake'\?" "$belfry" data inspect fak
expect 1 "^\[flow\] expected ',' or '\)' at character 6 of 'fake\('|^\[flow\] expected a value at character 6" \
  "$belfry" data inspect 'fake('
expect 1 "^\[fake\] expected no further argument, got 'colour'\.$" "$belfry" data inspect 'fake(colour=red)'
expect 1 'no/such\.npz' "$belfry" data inspect 'npz(no/such.npz)'
expect 1 '^\[inspect\] expected a flow with points' "$belfry" data inspect 'fake(size=3) | batch(4)'
