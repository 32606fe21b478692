# Bad arguments end a program with 2 and one line on stderr: command_line_test.sh BENCH EXAMPLE
set -euo pipefail
bench=$1 example=$2
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

# expect STATUS LINES PATTERN COMMAND...: how it ends, how many lines it writes to stderr, and what they say.
expect() {
  local status=0 lines
  "${@:4}" >"$scratch/out" 2>"$scratch/err" || status=$?
  lines=$(wc -l <"$scratch/err")
  if [[ $status != "$1" || $lines != "$2" ]] || { [[ -n $3 ]] && ! grep -qE -- "$3" "$scratch/err"; }; then
    printf '%s: expected status %s and %s line(s) like\n%s\ngot status %s and %s\n' "${*:4}" "$1" "$2" "$3" "$status" "$lines"
    cat "$scratch/err"
    exit 1
  fi
}

expect 2 1 '^fashion_mnist: .*--nonsense.* See fashion_mnist --help\.$' "$example" --nonsense
expect 2 1 '^fashion_mnist: --epochs: .*0 not in range' "$example" --epochs 0
expect 2 1 '^fashion_mnist: .*many' "$example" --batch many
expect 2 1 '^fashion_mnist: .*--seed' "$example" --seed
expect 2 1 '^fashion_mnist: --devices: expected 1 for --trainer simple, got 2\. See' "$example" --devices 2
expect 0 0 '' "$example" --help
expect 2 1 '^bench: --suite is required' "$bench"
expect 2 1 '^bench: --suite: .*vgg' "$bench" --suite vgg
expect 2 1 '^bench: --threads: ' "$bench" --suite mlp --threads 0
expect 2 1 '^bench: --warmup: ' "$bench" --suite mlp --warmup -2
expect 2 1 '^bench: .*--explain.*--numerics|--numerics.*--explain' "$bench" --suite mlp --explain --numerics
expect 2 1 '^bench: .*--trace' "$bench" --suite mlp --trace "$scratch/trace" --explain
expect 2 1 '^bench: --recompute: expected the suite resnet50, got mlp' "$bench" --suite mlp --recompute
expect 2 1 '^bench: .*--trainer.*--explain|--explain.*--trainer' "$bench" --suite mlp --trainer ps --explain
expect 2 1 '^bench: --trainer: .*best' "$bench" --suite mlp --trainer best
expect 2 1 '^bench: .*--devices.*--trainer' "$bench" --suite mlp --devices 2
expect 2 1 '^bench: --devices: expected 1 for the trainer simple, got 2' "$bench" --suite mlp --trainer simple --devices 2
expect 2 1 '^bench: .*--input.*--overhead|--overhead.*--input' "$bench" --input --overhead
expect 2 1 '^bench: .*--input.*--suite|--suite.*--input' "$bench" --input --suite mlp
expect 0 0 '' "$bench" --help
expect 0 0 '' "$bench" --suite mlp --steps 1 --warmup 1 --trace "$scratch/trace"
grep -q '"traceEvents"' "$scratch/trace"
grep -q "oneDNN's primitives" "$scratch/out"
expect 1 1 "no/such/directory" "$bench" --suite mlp --steps 1 --warmup 1 --trace "$scratch/no/such/directory/trace"
