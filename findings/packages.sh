# Sourced by the findings, which describe how tools of this field behave where an engineer may expect otherwise. Each one
# runs pinned Debian 12 packages without gpuhist, prints versions and what was seen, and fails if that has changed.

# unpack PACKAGE=VERSION...: into a temporary folder, which becomes the working directory and is removed at the end. Their
# programs come first in PATH. The libraries that they need must be installed, except those of these packages.
unpack() {
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cd "$work"
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
