source "$(dirname "$0")/common.sh"

# A machine without packages: every name of a group is requested, on any line of the list.
mkdir "$tree/bin"
for tool in dpkg-query apt-cache sudo; do printf '#!/bin/sh\nexit 1\n' >"$tree/bin/$tool"; done
printf '#!/bin/sh\necho "$@" >>"%s"\n' "$tree/asked" >"$tree/bin/apt-get"
printf '#!/bin/sh\necho 0\n' >"$tree/bin/id"
chmod +x "$tree"/bin/*
PATH=$tree/bin:$PATH "$root/scripts/packages" build data lint 2>/dev/null
# Those of the optional parts are what CMake's table of them says.
of_parts=$(tr '\n' ' ' <"$root/cmake/BelfryDataflow.cmake" | grep -oE 'PACKAGES [^)]*' | sed 's/PACKAGES//')
[[ $of_parts == *libjpeg-dev*libzmq3-dev* ]] || { echo "expected CMake to name packages of parts, got '$of_parts'"; exit 1; }
for name in cmake libdnnl-dev dataset-fashion-mnist clang-19 $of_parts; do
  grep -qE " install .* $name( |\$)" "$tree/asked" || { echo "'$name' is not asked for: $(tail -1 "$tree/asked")"; exit 1; }
done
