# The example learns with each of its trainers, on a small set of images: fashion_mnist_test.sh EXAMPLE
set -euo pipefail
example=$1
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
cd "$scratch" # train_log goes here

# ten_images: one of each class, 28 x 28. That of class c is black, but for two white lines: 2 c + 4 and the next.
ten_images() {
  local c
  for c in 0 1 2 3 4 5 6 7 8 9; do
    head -c $(((2 * c + 4) * 28)) /dev/zero
    head -c $((2 * 28)) /dev/zero | tr '\0' '\377'
    head -c $(((28 - 2 * c - 6) * 28)) /dev/zero
  done
}

# write_split PREFIX COUNT: that many images (COUNT is below 256 and a multiple of 10), and their labels.
write_split() {
  local count i
  count=$(printf '\\x%02x' "$2")
  {
    printf "\\x00\\x00\\x08\\x03\\x00\\x00\\x00$count\\x00\\x00\\x00\\x1c\\x00\\x00\\x00\\x1c"
    for ((i = 0; i < $2 / 10; ++i)); do ten_images; done
  } >"fashion-mnist/$1-images-idx3-ubyte"
  {
    printf "\\x00\\x00\\x08\\x01\\x00\\x00\\x00$count"
    for ((i = 0; i < $2 / 10; ++i)); do printf '\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09'; done
  } >"fashion-mnist/$1-labels-idx1-ubyte"
}
mkdir fashion-mnist
write_split train 80
write_split t10k 20
export BELFRY_DATA_DIR=$scratch

for trainer in simple ps replicated async; do
  devices=$([[ $trainer == simple ]] && echo 1 || echo 2)
  rm -rf train_log
  if ! "$example" --trainer "$trainer" --devices "$devices" --threads 1 --epochs 8 --batch 8 >out 2>err ||
    ! accuracy=$(sed -nE 's/^validation accuracy ([01]\.[0-9]+)$/\1/p' out) ||
    ! awk -v accuracy="$accuracy" 'BEGIN { exit !(accuracy >= 0.9) }'; then
    printf '%s: expected an accuracy of 0.9 or more, got\n' "$trainer"
    cat out err
    exit 1
  fi
  # Eight passes over 80 images: each tower takes batches of its own.
  steps=$((8 * 80 / 8 / devices))
  if ! grep -q "\"global_step\": *$steps\b" train_log/*/stats.json; then
    printf '%s: expected %s steps, got\n' "$trainer" "$steps"
    cat train_log/*/stats.json err
    exit 1
  fi
done
