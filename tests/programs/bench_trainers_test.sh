# ./bench measures trainers, inputs and the loop, and prints the fields that say so: bench_trainers_test.sh BENCH
set -euo pipefail
bench=$1
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

# prints FIELDS ARGUMENTS...: the program ends well, is silent on stderr, and writes one JSON line with these numbers.
prints() {
  local field
  if ! "$bench" "${@:2}" >"$scratch/out" 2>"$scratch/err" || [[ -s $scratch/err || $(wc -l <"$scratch/out") != 1 ]]; then
    printf 'bench %s: expected one line and no complaint, got\n' "${*:2}"
    cat "$scratch/out" "$scratch/err"
    exit 1
  fi
  for field in $1; do
    if ! grep -qE "\"$field\":(\"|-?[0-9])" "$scratch/out"; then
      printf 'bench %s: expected the field %s, got\n' "${*:2}" "$field"
      cat "$scratch/out"
      exit 1
    fi
  done
}

# same WHAT A B: two files hold the same losses.
same() {
  if ! cmp "$2" "$3"; then
    printf '%s: expected the same losses, got\n' "$1"
    cat "$2" "$3"
    exit 1
  fi
}

few=(--steps 2 --warmup 1 --repeats 1 --json)
prints 'queue_over_feed feedfree_overhead' --input "${few[@]}"
prints 'staging_overhead burst_queue_lag_ms burst_staging_lag_ms' --staging "${few[@]}"
prints 'trainer_us trainer_percent' --overhead "${few[@]}"
prints 'changing_over_fixed plans new_length_ms growth_late_kb' --shapes "${few[@]}"
prints 'growth resnet50_compile_s resnet50_dnnl_s' --compile --layers 100 "${few[@]}"
if ! grep -q '"layers":\[100\]' "$scratch/out"; then
  echo 'bench --compile --layers 100: expected one network, got'
  cat "$scratch/out"
  exit 1
fi
prints 'devices trainer scaling of_ceiling' --suite mlp --trainer simple "${few[@]}"
printf '\n\n' | "$bench" --suite mlp --rounds --steps 2 >"$scratch/out"
if [[ $(grep -cE '^(ready|64 [0-9.e-]+)$' "$scratch/out") != 3 ]]; then
  echo 'bench --rounds: expected "ready" and two rounds of 64 items, got'
  cat "$scratch/out"
  exit 1
fi

# The trainers train the same networks as the plain step, and agree with each other.
for suite in mlp ptb_lstm dcgan; do
  losses=(--suite "$suite" --numerics --steps 3 --json)
  "$bench" "${losses[@]}" >"$scratch/plain"
  "$bench" "${losses[@]}" --trainer simple >"$scratch/simple"
  same "$suite through SimpleTrainer" "$scratch/plain" "$scratch/simple"
  "$bench" "${losses[@]}" --trainer async >"$scratch/async"
  same "$suite on one asynchronous device" "$scratch/plain" "$scratch/async"
  # Several devices need as many cores.
  [[ $(nproc) -ge 2 ]] || continue
  "$bench" "${losses[@]}" --trainer ps --devices 2 >"$scratch/ps"
  "$bench" "${losses[@]}" --trainer replicated --devices 2 >"$scratch/replicated"
  same "$suite on two devices" "$scratch/ps" "$scratch/replicated"
done
if [[ $(nproc) -ge 2 ]]; then
  for trainer in ps replicated async; do
    prints 'devices trainer scaling of_ceiling' --suite mlp --trainer "$trainer" --devices 2 "${few[@]}"
  done
fi
