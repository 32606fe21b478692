source "$(dirname "$0")/common.sh"

lines() { seq "$1" | sed 's,.*,int x;,' >"$tree/$2"; }
mkdir -p "$tree/belfry/base" "$tree/build"
lines 500 belfry/base/fits.cc
lines 900 build/generated.cc
expect sizes 0 ''
lines 501 belfry/base/long.h
lines 600 belfry/base/longer.cc
expect sizes 0 '  600 lines  belfry/base/longer.cc
  501 lines  belfry/base/long.h'
lines 601 belfry/base/too_long.cc
expect sizes 1 '  601 lines  belfry/base/too_long.cc  (at most 600: split it by idea)
  600 lines  belfry/base/longer.cc
  501 lines  belfry/base/long.h'
