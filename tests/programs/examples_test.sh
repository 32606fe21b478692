# The examples train, the same way twice: examples_test.sh GAN VAE REINFORCE KMEANS RAW_REGRESSION [DATA_PIPELINE]
set -euo pipefail
gan=$1 vae=$2 reinforce=$3 kmeans=$4 raw_regression=$5 data_pipeline=${6:-}
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
cd "$scratch"  # their train_log goes here

fail() {
  echo "$*"
  exit 1
}

# twice COMMAND...: what it prints goes to `out`; it ends well, and prints the same when it runs again.
twice() {
  "$@" >out 2>err || fail "$*: ended with $?: $(cat err)"
  "$@" >again 2>/dev/null || fail "$*: ended with $? the second time"
  cmp -s out again || fail "$*: expected the same twice, got '$(cat out)', then '$(cat again)'"
}

# holds CONDITION: of the numbers in `out`, in the order in which they stand there: a[1], a[2], ...
holds() {
  grep -oE -- '-?[0-9]+(\.[0-9]+)?' out | awk '{ a[NR] = $1 } END { exit !('"$1"') }' ||
    fail "expected numbers with $1, got: $(cat out)"
}

# is_png FILE [WIDTH HEIGHT]
is_png() {
  [[ $(head -c 4 "$1" | od -An -c | tr -d ' ') == '211PNG' ]] || fail "expected $1 to be a PNG"
  [[ -z ${2:-} || $(od -An -tu4 --endian=big -j16 -N8 "$1" | xargs) == "$2 $3" ]] || fail "$1: expected $2 x $3 pixels"
}

twice "$kmeans" --points 2000 --epochs 12
holds 'a[1] > 0 && a[1] < a[2] / 5' # mean squared distance at the end, and at first

twice "$reinforce" --epochs 4
holds 'a[1] > a[2] + 100' # mean return, and at first

twice "$raw_regression"
holds 'a[1] > 2.9 && a[1] < 3.1 && a[2] > -1.1 && a[2] < -0.9'

if [[ -n $data_pipeline ]]; then # built with images
  twice "$data_pipeline" --sheet pipeline.png
  grep -qx 'restored after the first batch: the rest is the same' out || fail "data_pipeline: got $(cat out)"
  is_png pipeline.png
fi

# A sheet of images for each epoch; the second differs, since the generator has moved.
for trainer in "joint" "separate --d-period 1 --g-period 2" "multi --devices 2"; do
  name=${trainer%% *}
  # shellcheck disable=SC2086
  options=(--trainer $trainer --epochs 2 --steps 4 --batch 8 --threads 1)
  twice "$gan" "${options[@]}" --run-dir "$name"
  holds 'a[1] > 0 && a[1] < 10 && a[2] > 0 && a[2] < 10' # the losses are finite
  is_png "$name/epoch-001.png" 484 484 # 8 x 8 images of 56 x 56, and gaps of 4
  cmp -s "$name/epoch-001.png" "$name/epoch-002.png" && fail "$name: the second epoch draws what the first has drawn"
  "$gan" "${options[@]}" --run-dir "$name-again" >/dev/null 2>&1
  cmp -s "$name/epoch-002.png" "$name-again/epoch-002.png" || fail "$name: expected the same images twice"
done

# Batches of 128, 128 and 44 images. Two sheets for each epoch.
options=(--epochs 2 --images 300 --batch 128 --threads 1)
twice "$vae" "${options[@]}" --run-dir vae
holds 'a[1] > -540 && a[1] < 0' # the ELBO; of images that are grey all over it is -543
"$vae" "${options[@]}" --run-dir vae-again >/dev/null 2>&1
for sheet in samples reconstructions; do
  for epoch in 001 002; do
    is_png "vae/$sheet-$epoch.png" 484 484
    cmp -s "vae/$sheet-$epoch.png" "vae-again/$sheet-$epoch.png" || fail "vae: expected the same $sheet-$epoch.png twice"
  done
  cmp -s "vae/$sheet-001.png" "vae/$sheet-002.png" && fail "vae: the second epoch draws the $sheet of the first"
done
"$vae" "${options[@]}" --devices 2 --run-dir vae-towers >out 2>err || fail "vae --devices 2: ended with $?: $(cat err)"
holds 'a[1] > -560 && a[1] < 0'

for program in "$@"; do
  "$program" --help >out || fail "$program --help ended with $?"
  grep -q -- --epochs out || fail "$program --help does not name --epochs"
  status=0
  "$program" --epochs 0 >/dev/null 2>err || status=$?
  [[ $status == 2 && $(wc -l <err) == 1 ]] || fail "$program --epochs 0: expected 2 and a line, got $status: $(cat err)"
done

status=0
"$gan" --devices 2 2>err || status=$?
[[ $status == 2 && $(cat err) == "gan: --devices: expected --trainer multi, got joint. See gan --help." ]] ||
  fail "gan --devices 2: got $status: $(cat err)"
