#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
usage() {
    cat <<'EOF'
usage: tools/release.sh TAG [--out DIR] [--source-only]

What is released of a tag, such as v0.1.0: heliograph-VERSION.tar.gz of its tree, Debian packages built from that tarball
alone, and SHA256SUMS of all of them. The tree of this checkout is not looked at, only its tags.

  --out DIR       where it goes; new or empty (default out/release-VERSION)
  --source-only   the tarball and its checksum: no packages

examples:
  git tag -a v0.1.0 -m "Heliograph 0.1.0" && tools/release.sh v0.1.0
  (cd out/release-0.1.0 && sha256sum --check SHA256SUMS)

exit codes: 0 done, 1 failed, 2 usage, or no such tag
EOF
}
die() { echo "release: $1" >&2; exit "${2:-1}"; }
tag='' out='' source_only=no
while [ $# -gt 0 ]; do
    case $1 in
    --out) out=${2:?--out wants a folder}; shift ;;
    --source-only) source_only=yes ;;
    -h | --help) usage; exit 0 ;;
    -*) echo "release: unknown option $1" >&2; usage >&2; exit 2 ;;
    *) [ -z "$tag" ] || die "one tag is wanted, not $1 as well" 2; tag=$1 ;;
    esac
    shift
done
[ -n "$tag" ] || { usage >&2; exit 2; }
[ -z "$out" ] || out=$(realpath -m "$out")
cd "$(dirname "$0")/.."
git rev-parse -q --verify "refs/tags/$tag^{commit}" >/dev/null || die "there is no tag $tag; git tag -l lists them" 2
version=${tag#v}
named=$(git show "$tag:CMakeLists.txt" | sed -n 's/^project(heliograph VERSION \([0-9.]*\).*/\1/p')
[ "$named" = "$version" ] || die "tag $tag, but its CMakeLists.txt has the version $named: change one of them" 2
python=$(git show "$tag:tools/python/pyproject.toml" | sed -n 's/^version = "\(.*\)"/\1/p')
[ "$python" = "$version" ] || die "tag $tag, but its tools/python/pyproject.toml has the version $python: change one of them" 2
out=${out:-$PWD/out/release-$version}
[ -z "$(ls -A "$out" 2>/dev/null)" ] || die "$out is not empty" 2
mkdir -p "$out"

name=heliograph-$version
git archive --format=tar --prefix="$name/" "$tag" | gzip -9n >"$out/$name.tar.gz"
if [ "$source_only" = no ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    tar -xzf "$out/$name.tar.gz" -C "$work"
    echo "release: building $name; this takes minutes"
    (cd "$work/$name" && cmake --preset release && cmake --build --preset release --target programs) >"$out/build.log" 2>&1 ||
        die "the build failed: $out/build.log"
    (mkdir "$work/packages" && cd "$work/packages" && cpack -G DEB --config "$work/$name/build/release/CPackConfig.cmake") >>"$out/build.log" 2>&1 ||
        die "the packages failed: $out/build.log"
    mv "$work"/packages/*.deb "$out"
    rm "$out/build.log"
fi
(cd "$out" && sha256sum -- *.tar.gz $([ "$source_only" = yes ] || echo *.deb) >SHA256SUMS)
echo "release: $out"
cat "$out/SHA256SUMS"
