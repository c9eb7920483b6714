#!/usr/bin/env bash
# The date library converts times with the zone files of the system. They end with a rule for all later years, which the
# library does not read: after the last change that a file lists, in 2037, there is no summer time. date(1) of the GNU
# core utilities follows the rule.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
unpack libhowardhinnant-date-dev=3.0.1+ds-5 libdate-tz3=3.0.1+ds-5
cat >offset.cpp <<'CPP'
#include <date/tz.h>

#include <cstdio>
#include <cstdlib>

// offset YEAR: of Berlin on the first of July
int main(int, char** arguments) {
  const date::local_days day = date::local_days(date::year(std::atoi(arguments[1])) / date::July / 1);
  const auto found = date::locate_zone("Europe/Berlin")->get_info(date::local_seconds(day)).first;
  std::printf("%ld hours\n", static_cast<long>(found.offset.count() / 3600));
}
CPP
libraries="${LD_LIBRARY_PATH%%:*}"
dpkg-query -W tzdata
g++ -std=c++17 -O1 -DUSE_OS_TZDB=1 -I usr/include offset.cpp -o offset -L "$libraries" -ldate-tz
expect "the date library, July 2037" "2 hours" "$(./offset 2037)"
expect "the date library, July 2038" "1 hours" "$(./offset 2038)"
expect "date(1), July 2038" "+0200" "$(TZ=Europe/Berlin date -d 2038-07-01 +%z)"
