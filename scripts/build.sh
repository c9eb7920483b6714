#!/usr/bin/env bash
# Sourced by the other scripts: configures and builds. Prints the log only if that fails.

# configure NAME [CMAKE ARGUMENT...]: configures build/NAME, with Ninja and ccache if they are installed. Without
# arguments, NAME is a preset. Prints CMake's messages about CUDA and tests.
configure() {
  local name=$1 log=build/$1.configure.log options=("${@:2}")
  if ((!${#options[@]})); then options=(--preset "$name"); fi
  mkdir -p build
  if [[ ! -e build/$name/CMakeCache.txt ]] && command -v ninja >/dev/null; then options+=(-G Ninja); fi
  if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  cmake -B "build/$name" "${options[@]}" >"$log" 2>&1 || { cat "$log"; return 1; }
  grep 'gpuhist:' "$log" | sed 's/^-- //'
}

# compile NAME [TARGET...]: builds build/NAME, which is configured.
compile() {
  local name=$1 log=build/$1.build.log targets=("${@:2}")
  echo "gpuhist: building in build/$name"
  cmake --build "build/$name" -j "$(nproc)" ${targets[@]+--target "${targets[@]}"} >"$log" 2>&1 || { tail -n 200 "$log"; return 1; }
}

# build PRESET [TARGET...]
build() { configure "$1" && compile "$@"; }
