# The examples that read a data set's files learn from small ones: data_sets_test.sh MNIST_IDX PTB [IMAGE_FOLDER DATA_PIPELINE]
set -euo pipefail
mnist_idx=$1 ptb=$2 image_folder=${3:-} data_pipeline=${4:-} here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
cd "$scratch" # their train_log goes here
source "$here/idx_files.sh"

fail() {
  printf '%s\n' "$*"
  exit 1
}

# trains COMMAND...: it ends well; stdout is in `out`, the log in `err`.
trains() { "$@" >out 2>err || fail "$*: ended with $?: $(cat err)"; }

# below LIMIT: the number after the words in `out` that end in "error" or "perplexity".
below() {
  local value
  value=$(sed -nE 's/.*(error|perplexity) ([0-9.]+).*/\2/p' out)
  awk -v value="$value" -v limit="$1" 'BEGIN { exit !(value != "" && value < limit) }' ||
    fail "expected a number below $1, got: $(cat out err)"
}

# same_end RUN RUN STEP: two runs have the same statistics and, after this many steps, the same tensors.
same_end() {
  local run length
  for run in "$1" "$2"; do
    sed -E 's/"input_queue_size":[^,]*,//' "$run/stats.json" >"$run.stats" # how full the queue was is a matter of time
    # The tensors alone: the header, whose length is in the first eight bytes, has the statistics too.
    length=$(od -An -tu8 -N8 "$run/model-$3.safetensors")
    tail -c +$((length + 9)) "$run/model-$3.safetensors" >"$run.tensors"
  done
  cmp "$1.stats" "$2.stats" || fail "expected the statistics of a whole run, got $(cat "$2/stats.json")"
  cmp "$1.tensors" "$2.tensors" || fail 'expected a resumed run to end with the same bits'
}

# MNIST: two epochs and three more are five at once, to the last bit; then it ends by itself.
mkdir idx
write_split idx train 80
write_split idx t10k 20
mnist=("$mnist_idx" --data idx --batch 8)
trains "${mnist[@]}" --epochs 5 --patience 5 --run-dir whole
below 0.1
trains "${mnist[@]}" --epochs 2 --patience 5 --run-dir parts
trains "${mnist[@]}" --epochs 5 --patience 5 --run-dir parts --resume auto
same_end whole parts 50
trains "${mnist[@]}" --epochs 60 --patience 3 --run-dir early
grep -q "'validation_error' has not fallen for 3 epochs" out || fail "expected an early stop, got $(cat out)"
[[ ! -e early/model-600.safetensors ]] || fail 'expected an end before epoch 60'

# PTB: a text that repeats itself can be foretold.
mkdir text
for part in train valid; do
  for _ in {1..60}; do echo 'the quick brown fox jumps over the lazy dog'; done >text/ptb.$part.txt
done
language=("$ptb" text --batch 4 --time 5 --units 32)
trains "${language[@]}" --epochs 6 --run-dir language
below 1.5
! grep -q 'error' err || fail "expected no errors in the log, got $(cat err)"
language+=(--layers 3 --dropout 0.2)
trains "${language[@]}" --epochs 2 --run-dir deep
trains "${language[@]}" --epochs 1 --run-dir deeper
trains "${language[@]}" --epochs 2 --run-dir deeper --resume auto
same_end deep deeper 58
echo 'the quick' >text/ptb.valid.txt
! "$ptb" text --batch 4 --time 5 >out 2>err || fail "expected a text that is too short to be refused, got $(cat out)"
grep -q "^\[token_streams\] expected 21 tokens or more for 4 streams of 5 steps, got 3 in 'text/ptb.valid.txt'" err || fail "expected an error that names the text, got $(cat err)"
rm text/ptb.valid.txt
! "$ptb" text >out 2>err || fail "expected a missing text to be an error, got $(cat out)"
grep -q "cannot open 'text/ptb.valid.txt'" err || fail "expected an error that names the text, got $(cat err)"

[[ -n $image_folder ]] || exit 0
# Pictures: two classes, then three with the weights of the two.
for part in train test; do trains "$data_pipeline" --folder "pictures/$part" --images 160 --epochs 1 --sheet sheet.png; done
trains "$image_folder" pictures --epochs 20 --batch 8 --size 24 --rate 0.02 --run-dir two
below 0.3
for part in train test; do cp -r "pictures/$part/disc" "pictures/$part/third"; done
trains "$image_folder" pictures --epochs 1 --batch 8 --size 24 --rate 0.01 --run-dir three --from two
grep -q "head/W" err || fail "expected the log to say that the head is new, got $(cat err)"
grep -q '^3 classes' out || fail "expected three classes, got $(cat out)"
