source "$(dirname "$0")/common.sh"

# What ./dev fresh tries are the README's commands; none of these is lost by an edit.
commands=$("$root/scripts/fresh" --list)
for command in './run' './test' 'scripts/packages build' 'cmake --install build/release' 'cmake -S tests/install/outside' \
  'build/outside/outside' './bench --data'; do
  grep -qF -- "$command" <<<"$commands" || { printf "expected '%s' among the commands, got\n%s\n" "$command" "$commands"; exit 1; }
done
[[ $("$root/scripts/fresh" --list --quick) == *'./dev parts' ]] || { echo "expected --quick to look for the parts"; exit 1; }
[[ $("$root/scripts/fresh" --list --only bench) == './bench --data'* ]] || { echo "expected --only to choose a command"; exit 1; }

# refused TEXT ARGUMENTS...: ends with 2 before anything is done.
refused() {
  local status=0 text
  text=$("$root/scripts/fresh" "${@:2}" 2>&1) || status=$?
  [[ $status == 2 && $text == "$1" ]] || { printf '%s: expected 2 and\n%s\ngot %s and\n%s\n' "${*:2}" "$1" "$status" "$text"; exit 1; }
}
refused "fresh: there is no option '--fast'. See scripts/fresh --help." --fast
refused "fresh: --as: expected root or user, got 'nobody'" --as nobody
refused "fresh: --only: expected a regular expression" --only
