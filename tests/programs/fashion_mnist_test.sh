# The example learns with each of its trainers, on a small set of images: fashion_mnist_test.sh EXAMPLE
set -euo pipefail
example=$1 here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
cd "$scratch" # train_log goes here

source "$here/idx_files.sh"
mkdir fashion-mnist
write_split fashion-mnist train 80
write_split fashion-mnist t10k 20
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
