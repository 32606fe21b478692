# The belfry command ends as it should, prints JSON and nothing else with --json, and completes in bash:
# command_test.sh BELFRY
set -euo pipefail
belfry=$1
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

# document COMMAND...: with --json its stdout begins and ends as one object does.
document() {
  expect 0 '' "$@" --json
  [[ $(head -n 1 out) == '{' && $(tail -n 1 out) == '}' ]] || fail "$*: expected one JSON document"
}

# A safetensors file of two f32 tensors, each of one element: tensors FILE BYTES BYTES.
tensors() {
  local header='{"fc/W":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"fc/b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}'
  {
    printf "\\x$(printf %02x ${#header})\\0\\0\\0\\0\\0\\0\\0%s" "$header"
    printf "$2$3"
  } >"$1"
}
tensors one.safetensors '\0\0\x80\x3f' '\0\0\0\0'  # 1 and 0
tensors two.safetensors '\0\0\0\x40' '\0\0\0\0'    # 2 and 0

expect 0 '' "$belfry" ls one.safetensors
shows '^one.safetensors: safetensors$' '^fc/W +f32 +\[1\] +4 +1 +1 +1 +0$' '1 zero$' '^2 tensors, 2 elements, 8 B$'
expect 0 '' "$belfry" ls one.safetensors --no-stats --match '.*/b'
shows '^fc/b +f32 +\[1\] +4$' '^1 tensor, 1 element, 4 B$'
expect 1 "expected a checkpoint or a directory of checkpoints, got 'none'" "$belfry" ls none
expect 2 'expected a regular expression' "$belfry" ls one.safetensors --match '('
expect 2 '--sort' "$belfry" ls one.safetensors --sort size

expect 0 '' "$belfry" diff one.safetensors one.safetensors
expect 1 '' "$belfry" diff one.safetensors two.safetensors
shows '^  fc/W +1 +1 +1 +0.5$' '^1 equal, 1 with other values'
expect 2 "got 'none'" "$belfry" diff one.safetensors none
expect 1 '' "$belfry" diff one.safetensors two.safetensors --json

expect 0 '' "$belfry" convert one.safetensors one.npz
expect 0 '' "$belfry" diff one.safetensors one.npz
expect 1 'expected no file at .one.npz., got one' "$belfry" convert two.safetensors one.npz
expect 0 '' "$belfry" diff one.safetensors one.npz
expect 0 '' "$belfry" convert two.safetensors one.npz --force --compress
expect 0 '' "$belfry" diff two.safetensors one.npz
expect 0 '' "$belfry" average one.safetensors two.safetensors two.safetensors -o mean.npz
expect 0 '' "$belfry" ls mean.npz
shows '^fc/W .* 1.66667 '
expect 2 'expected two files or more' "$belfry" average one.safetensors -o mean2.npz
expect 0 '' "$belfry" rename one.safetensors 's/fc/dense/' -o renamed.safetensors
expect 0 '' "$belfry" drop renamed.safetensors '.*b' --dry-run
shows '^  dense/b$'
expect 2 's/REGEX/REPLACEMENT/' "$belfry" rename one.safetensors fc -o x.npz

document "$belfry" ls one.safetensors
document "$belfry" diff one.safetensors one.safetensors
document "$belfry" convert one.safetensors json.npz
document "$belfry" average one.safetensors two.safetensors -o json2.npz
document "$belfry" rename one.safetensors s/fc/x/ --dry-run
document "$belfry" drop one.safetensors .*b --dry-run
document "$belfry" completion bash
document "$belfry" data words
document "$belfry" data inspect 'fake(side=8, size=20)' --sheet sheet.png

mkdir -p 'my runs/net'
cat >'my runs/net/stats.json' <<END
[
{"epoch_num":1,"global_step":10,"cost":2,"validation_cost":3},
{"epoch_num":2,"global_step":20,"cost":1,"validation_cost":"nan"}
]
END
cat >'my runs/net/run.json' <<END
{"format": 1, "runs": [{"program": "say", "command": ["printf", "%s|", "a b", "it's"], "directory": "$PWD/my runs",
 "host": "elsewhere", "process": 1, "state": "interrupted", "signal": 15, "auto_resume": true}]}
END
LC_ALL=C.UTF-8 expect 0 '' "$belfry" plot 'my runs/net'
shows '^cost \(1 not finite\)$' '┤' '  \* cost  \+ validation_cost'
LC_ALL=C expect 0 '' "$belfry" plot 'my runs/net' --width 60
! grep -qP '[^\x00-\x7f]' out || fail 'expected plain ASCII'
[[ $(awk '{ if (length > most) most = length } END { print most }' out) -le 60 ]] || fail 'expected lines of 60 characters'
expect 0 '' "$belfry" plot 'my runs/net' -o curves.svg
[[ $(head -c 4 curves.svg) == '<svg' ]] || fail 'expected curves.svg to be an SVG'
expect 0 '' "$belfry" plot 'my runs/net' 'my runs/net/stats.json' -o curves.png --log --smooth 0.5 --x step
[[ $(head -c 4 curves.png | od -An -c | tr -d ' ') == '211PNG' ]] || fail 'expected curves.png to be a PNG'
expect 1 'got nothing there' "$belfry" plot nowhere
document "$belfry" plot 'my runs/net'

expect 0 '' "$belfry" summary 'my runs/net'
shows '^  state +interrupted by signal 15$' '^cost +1 +1 +2 +lowest$' '^no checkpoints$'
document "$belfry" summary 'my runs/net'

# The command for a shell does what --run does.
expect 0 '' "$belfry" resume 'my runs/net'
cp out command
expect 0 '' bash command
[[ $(<out) == "a b|it's|" ]] || fail 'expected the arguments as they were'
expect 0 '' "$belfry" resume 'my runs/net' --run
[[ $(<out) == "a b|it's|" ]] || fail 'expected the arguments as they were'
expect 2 'excludes' "$belfry" resume 'my runs/net' --run --json
document "$belfry" resume 'my runs/net'
sed -i 's/interrupted/finished/' 'my runs/net/run.json'
expect 1 'but the run is finished' "$belfry" resume 'my runs/net' --run

# Every subcommand shows an example of itself.
expect 0 '' "$belfry" --help
for name in $(awk '/^Subcommands:/ { found = 1; next } found && NF { print $1 }' out); do
  [[ $name == data ]] && name='data inspect'
  # shellcheck disable=SC2086  # two words
  expect 0 '' "$belfry" $name --help
  shows '^Example:$' "belfry $name" '--json'
done

# completes WORDS... EXPECTED: what Tab offers after the last of the words, sorted, in one line.
source <("$belfry" completion bash)
complete -p belfry >out || fail 'expected a completion of belfry'
completes() {
  COMP_WORDS=(belfry "${@:1:$#-1}")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _belfry
  mapfile -t COMPREPLY < <(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort)
  [[ "${COMPREPLY[*]}" == "${*: -1}" ]] || fail "expected ${*: -1} after ${*:1:$#-1}, got ${COMPREPLY[*]}"
}
completes 'su' 'summary'
completes ls --so '--sort'
completes ls --sort '' 'bytes name'
completes ls --sort = n 'name'
completes ls one. 'one.npz one.safetensors'
completes data in 'inspect'
completes data inspect --sh '--sheet --show'
completes completion '' 'bash'
completes summary my 'my runs'
completes plot --metrics x ""
completes plot x --output curves.s 'curves.svg'
completes average -o mean 'mean.npz'
completes diff ls one.s 'one.safetensors'
