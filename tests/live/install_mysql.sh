#!/bin/sh
# A MySQL server in the folder $1/root, beside what the machine has: Debian's unstable packages and
# every library that they need. Its versions move, so that what fixes them is the archive's key.
set -eu
mkdir -p "$1/apt/lists/partial" "$1/apt/archives/partial" "$1/root"
folder=$(cd "$1" && pwd)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
archive=$(sed -n 's/^URIs: *//p; s/^deb \([^[]*:[^ ]*\) .*/\1/p' \
	/etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null | head -n 1)
echo "deb [signed-by=$keys] $archive unstable main" >"$folder/apt/sources.list"
: >"$folder/apt/status"
cat >"$folder/apt/apt.conf" <<END
Dir::State "$folder/apt";
Dir::State::status "$folder/apt/status";
Dir::Cache "$folder/apt";
Dir::Etc::sourcelist "$folder/apt/sources.list";
Dir::Etc::sourceparts "-";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
END
export APT_CONFIG="$folder/apt/apt.conf"
apt-get update --quiet=2
apt-get install --quiet=2 --yes --download-only mysql-server-core >"$folder/apt/log"
for package in "$folder"/apt/archives/*.deb; do dpkg-deb --extract "$package" "$folder/root"; done
rm -r "$folder/apt"
