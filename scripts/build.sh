#!/usr/bin/env bash
# Sourced by the other scripts: configures and builds a preset, loud only when it fails.

# build PRESET [TARGET...]: into build/PRESET, with Ninja where it is here. What CMake found out about CUDA is printed.
build() {
  local preset=$1 log=build/$1.configure.log targets=("${@:2}") generator=()
  mkdir -p build
  if [[ ! -e build/$preset/CMakeCache.txt ]] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
  echo "gpuhist: building in build/$preset"
  cmake --preset "$preset" ${generator[@]+"${generator[@]}"} >"$log" 2>&1 || { cat "$log"; return 1; }
  grep 'gpuhist:' "$log" | sed 's/^-- //'
  cmake --build --preset "$preset" -j "$(nproc)" ${targets[@]+--target "${targets[@]}"} >"$log" 2>&1 || { tail -n 200 "$log"; return 1; }
}
