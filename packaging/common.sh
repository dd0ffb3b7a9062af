# What the scripts of this folder share. To be sourced, from the root of the repository.
set -eu
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
packages=$target/packages
static_target=x86_64-unknown-linux-musl
static_binary=$target/$static_target/dist/homenode
deb=$packages/homenode_${version}_amd64.deb
tarball=$packages/homenode-$version-x86_64-linux.tar.xz

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
