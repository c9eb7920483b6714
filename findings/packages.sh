# Sourced by the findings, which describe how tools of this field behave where an engineer may expect otherwise. Each one
# runs pinned packages of Debian 12 or Python without gpuhist, prints versions and what was seen, and fails if that has changed.

# A temporary folder becomes the working directory, and is removed at the end.
enter_temporary_folder() {
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cd "$work"
}

# install_python PACKAGE==VERSION...: into a temporary folder, in which Python finds them, without what they require.
install_python() {
  enter_temporary_folder
  python3 -m pip install -q --no-deps --disable-pip-version-check --root-user-action=ignore --target "$work/python" "$@"
  export PYTHONPATH="$work/python"
  python3 --version
  printf '%s\n' "$@"
}

# unpack PACKAGE=VERSION...: into a temporary folder. Their programs come first in PATH. The libraries that they need must
# be installed, except those of these packages.
unpack() {
  enter_temporary_folder
  apt-get -o APT::Sandbox::User= download -qq "$@"
  local package
  for package in ./*.deb; do
    dpkg-deb -f "$package" Package Version | sed 's/^[A-Za-z]*: //' | paste -sd ' '
    dpkg-deb -x "$package" .
  done
  export PATH="$work/usr/bin:$work/bin:$PATH"
  export LD_LIBRARY_PATH="$work/usr/lib/$(uname -m)-linux-gnu:$work/lib/$(uname -m)-linux-gnu"
}

# expect TITLE EXPECTED SEEN
expect() {
  printf '%s: %s\n' "$1" "$3"
  if [[ $2 != "$3" ]]; then
    printf 'CHANGED: %s was %s\n' "$1" "$2" >&2
    exit 1
  fi
}
