#!/bin/sh
# Install the Debian packages that are missing, and say first which and why. Each argument is "package: why".
# With APT=no, without root or without apt-get nothing is installed: tests that need a package are skipped,
# and pytest names them at its end.
missing=""
reasons=""
for argument in "$@"; do
    package=${argument%%:*}
    if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed"; then
        missing="$missing $package"
        reasons="$reasons  $argument
"
    fi
done
[ -z "$missing" ] && exit 0

say() {
    printf '%s\n%s' "$1" "$reasons"
}

if [ "${APT:-yes}" = no ]; then
    say "APT=no, so these Debian packages are not installed (tests that need them are left out and named at the end):"
elif ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    say "these Debian packages are missing, and installing them takes root and apt-get (tests that need them are left out and named at the end):"
else
    say "installing these Debian packages (APT=no installs none):"
    # shellcheck disable=SC2086
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null ||
        echo "they could not be installed: tests that need them are left out and named at the end"
fi
exit 0
