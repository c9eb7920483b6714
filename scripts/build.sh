#!/usr/bin/env bash
# Sourced by the other scripts: configures and builds a preset. Prints the log only if that fails.

# configure PRESET: configures build/PRESET, with Ninja and ccache if they are installed. Prints CMake's messages about
# CUDA and tests.
configure() {
  local preset=$1 log=build/$1.configure.log options=()
  mkdir -p build
  if [[ ! -e build/$preset/CMakeCache.txt ]] && command -v ninja >/dev/null; then options+=(-G Ninja); fi
  if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  cmake --preset "$preset" ${options[@]+"${options[@]}"} >"$log" 2>&1 || { cat "$log"; return 1; }
  grep 'gpuhist:' "$log" | sed 's/^-- //'
}

# build PRESET [TARGET...]
build() {
  local preset=$1 log=build/$1.build.log targets=("${@:2}")
  echo "gpuhist: building in build/$preset"
  configure "$preset" || return
  cmake --build --preset "$preset" -j "$(nproc)" ${targets[@]+--target "${targets[@]}"} >"$log" 2>&1 || { tail -n 200 "$log"; return 1; }
}
