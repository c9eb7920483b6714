#!/usr/bin/env bash
# Installs the missing packages that a Debian or Ubuntu machine needs to build gpuhist. `scripts/setup.sh --all` adds
# those that `scripts/test.sh --all` needs, and `--long` also those of `scripts/test.sh --long`. Also sourced by the other
# scripts, for its functions and for PATH.
set -euo pipefail

# CUDA's own installer does not add nvcc to the PATH.
if ! command -v nvcc >/dev/null && [[ -x /usr/local/cuda/bin/nvcc ]]; then
  export PATH="/usr/local/cuda/bin:$PATH"
fi

build_packages=(g++ make cmake ninja-build pkg-config libzstd-dev zstd libisal-dev libarchive-dev liblzma-dev libbz2-dev liblz4-dev libsnappy-dev libbrotli-dev
  libxxhash-dev zlib1g-dev libhwy-dev libsimdjson-dev libre2-dev libutf8proc-dev libcld2-dev libcurl4-openssl-dev libhowardhinnant-date-dev tzdata libcli11-dev nlohmann-json3-dev libtomlplusplus-dev doctest-dev libbenchmark-dev python3
  xz-utils lzip bzip2 lz4 ncompress logrotate p7zip-full cpio ent)
# clang-tidy 14 and 15 cannot parse coroutines and ranges of libstdc++ 12; clang-format's output depends on its version.
# Tests of the examples and of the documentation use NumPy and doxygen; tests of jobs use GNU parallel, strace and xxhsum;
# tests of formats use the files of other tools.
check_packages=(clang-tidy-19 clang-format-19 python3-numpy doxygen parallel strace xxhash zip libarchive-tools pixz brotli lrzip rpm ripgrep)
long_packages=(slurm-wlm munge python3-dev python3-venv default-jre-headless)

installed() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

# Boost 1.81 is the first version whose Asio has everything that gpuhist uses. Debian 12 has it in addition to an older
# default.
boost_package() {
  local candidate
  for candidate in libboost-dev libboost1.81-dev; do
    installed "$candidate" || continue
    if [[ $candidate != libboost-dev ]] || dpkg --compare-versions "$(dpkg-query -W -f '${Version}' libboost-dev)" ge 1.81
    then echo "$candidate"; return; fi
  done
  candidate=$(apt-cache policy libboost-dev 2>/dev/null | sed -n 's/^ *Candidate: //p')
  if [[ -n $candidate && $candidate != '(none)' ]] && dpkg --compare-versions "$candidate" ge 1.81
  then echo libboost-dev; else echo libboost1.81-dev; fi
}

# missing_packages [--all | --long]: the names of the packages that setup would install, one per line.
missing_packages() {
  local package wanted=("${build_packages[@]}" "$(boost_package)")
  case ${1:-} in --all | --long) wanted+=("${check_packages[@]}") ;; esac
  if [[ ${1:-} == --long ]]; then wanted+=("${long_packages[@]}"); fi
  for package in "${wanted[@]}"; do installed "$package" || echo "$package"; done
}

# explain_requirements REASON: prints the requirements. CMake then reports those that are missing.
explain_requirements() {
  echo "gpuhist: needs a C++20 compiler, cmake >= 3.25, ninja or make, pkg-config, python3, for its tests the commands zstd," \
    "xz, lzip, bzip2, lz4, compress, 7z, cpio, logrotate and ent, and the development files of Boost >= 1.81, libzstd, ISA-L (libisal)," \
    "libarchive, liblzma >= 5.4, libbz2, liblz4, zlib, libsnappy, libbrotli, Highway (libhwy), simdjson, RE2, utf8proc, CLD2, libcurl (optional), Howard Hinnant's date, CLI11, nlohmann-json, toml++, doctest and Google Benchmark." \
    "$1; continuing with the installed packages." >&2
}

setup() {
  local missing as_root=()
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    explain_requirements "This machine has no apt-get"
    return
  fi
  [[ -n $(missing_packages "$@") ]] || return 0
  if [[ $EUID -ne 0 ]]; then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
      as_root=(sudo)
    else
      explain_requirements "Missing packages, and neither root nor sudo to install them: $(missing_packages "$@" | xargs)"
      return
    fi
  fi
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  # Right after the start of a machine, package sources may not be reachable yet.
  "${as_root[@]}" apt-get update -qq </dev/null || { sleep 5; "${as_root[@]}" apt-get update -qq </dev/null; }
  mapfile -t missing < <(missing_packages "$@") # again: the update may have changed which Boost is available
  echo "gpuhist: installing ${missing[*]}"
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >/dev/null
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then setup "$@"; fi
