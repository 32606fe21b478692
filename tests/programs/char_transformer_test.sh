# char_transformer trains and continues exactly, and its sampler needs only the run's directory:
#   char_transformer_test.sh CHAR_TRANSFORMER CHAR_TRANSFORMER_SAMPLE
set -euo pipefail
train=$1 sample=$2
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
cd "$scratch"

fail() {
  echo "$*"
  exit 1
}

# fails STATUS TEXT COMMAND...: the command ends with the status and prints nothing but this on stderr.
fails() {
  local wanted=$1 text=$2 status=0
  shift 2
  "$@" >out 2>err || status=$?
  [[ $status == "$wanted" && $(cat err) == "$text" ]] || fail "$*: expected $wanted and '$text', got $status: $(cat err)"
}

for i in {1..60}; do echo "Row $i: the bell in the tower rings $((i * 7)) times."; done >text
options=(text --window 32 --features 32 --blocks 1 --batch 4 --steps 10 --epochs 2 --threads 1 --run-dir run)
"$train" "${options[@]}" >out 2>err || fail "ended with $?: $(cat err)"
[[ $(grep -c '^--- epoch [12]$' out) == 2 ]] || fail "expected a sample of both epochs, got: $(cat out)"
grep -qE '^validation loss [0-9.]+, [0-9.]+ bits per character; a sample:$' out || fail "got: $(cat out)"

# A continued run draws the same samples and has the same loss.
sed -n '/^--- epoch 2$/,$p' out >whole
rm run/model-20.*
"$train" "${options[@]}" --resume auto >out 2>err || fail "--resume ended with $?: $(cat err)"
cmp -s whole out || fail "expected '$(cat whole)' after --resume, got '$(cat out)'"
echo 'Other signs: §' >>text
fails 1 "[char_transformer] expected the text that 'run' was trained on, got one whose characters are not those of 'run/vocabulary.txt'." \
  "$train" "${options[@]}" --resume auto

# The same seed draws the same text, another one another; the prompt comes first; a window is no limit.
export BELFRY_LOG_LEVEL=warning
mv run moved
for way in "" --one-run; do
  draw() { "$sample" moved --prompt 'the bell' --tokens 20 $way "$@"; }
  draw >a && draw >b && draw --seed 2 >c
  cmp -s a b || fail "$way: expected the same text twice, got '$(cat a)', then '$(cat b)'"
  cmp -s a c && fail "$way: expected another seed to draw another text than '$(cat a)'"
  [[ $(head -c 8 a) == 'the bell' && $(wc -m <a) == 29 ]] || fail "$way: expected the prompt and 20 characters, got '$(cat a)'"
done
"$sample" moved --prompt 'the bell' --tokens 24 --temperature 0 >a
"$sample" moved --prompt 'the bell' --tokens 24 --temperature 0 --one-run >b
"$sample" moved --prompt 'the bell' --tokens 24 --top-k 1 --best >c
cmp -s a b && cmp -s a c || fail "expected the likeliest characters each time, got '$(cat a)', '$(cat b)' and '$(cat c)'"
long=$(printf 'the bell in the tower %.0s' {1..3})
for prompt in "$long" 't'; do
  "$sample" moved --prompt "$prompt" --tokens 100 --top-p 0.9 >a
  [[ $(wc -m <a) == $((${#prompt} + 101)) ]] || fail "expected 100 characters behind '$prompt', got '$(cat a)'"
done

fails 1 "[checkpoint] expected a checkpoint or a directory of checkpoints, got 'nowhere', which is neither." \
  "$sample" nowhere
fails 1 "[char_transformer] expected a prompt of characters that occur in the text, got 'bell§' with another one at place 4. The characters are in moved/vocabulary.txt." \
  "$sample" moved --prompt 'bell§'
fails 1 "[char_transformer] expected prompt and characters to fit the window of 32, so 25 characters or fewer after this prompt, got 26. Without --one-run there may be more." \
  "$sample" moved --prompt 'the bell' --tokens 26 --one-run
fails 2 "char_transformer: --features: expected a multiple of 32, got 40. See char_transformer --help." \
  "$train" text --features 40
fails 1 "[char_transformer] expected more than 400 characters, the window, in the text to train on and in the held-out one, got 281. Take a longer text or a smaller --window." \
  "$train" text --window 400
