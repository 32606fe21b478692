# Source it: a scratch folder to build a small tree in, and expect() to compare what a script says about it.
set -euo pipefail
root=$1
tree=$(mktemp -d)
trap 'rm -r "$tree"' EXIT

# file PATH LINE...: a file of the tree.
file() {
  mkdir -p "$(dirname "$tree/$1")"
  printf '%s\n' "${@:2}" >"$tree/$1"
}

# expect SCRIPT STATUS TEXT: what the script prints about the tree and how it ends.
expect() {
  local status=0 text
  text=$("$root/scripts/$1" "$tree") || status=$?
  if [[ $status != "$2" || $text != "$3" ]]; then
    printf '%s:%s: expected status %s and\n%s\ngot status %s and\n%s\n' \
      "${BASH_SOURCE[1]}" "${BASH_LINENO[0]}" "$2" "$3" "$status" "$text"
    exit 1
  fi
}
