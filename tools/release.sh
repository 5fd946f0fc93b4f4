#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
usage() {
    cat <<'EOF'
usage: tools/release.sh TAG [--out DIR] [--no-debs] [--preset NAME] [--sign KEY]

The files of a release, made from a tag such as v0.1.0: the source archive heliograph-VERSION.tar.gz, Debian packages and a
Python wheel built from that archive alone, a list of components (SPDX), and SHA256SUMS of all of them. The checkout's own
files are not read, only its tags. The same tag gives the same bytes, in any folder, with the same compiler and libraries.

  --out DIR       folder for the files; new or empty (default out/release-VERSION)
  --no-debs       everything but the Debian packages, whose build takes minutes
  --preset NAME   the build's preset (default release)
  --sign KEY      also SHA256SUMS.asc, a signature by this key of gpg

examples:
  git tag -a v0.1.0 -m "Heliograph 0.1.0" && tools/release.sh v0.1.0 --sign releases@example.org
  (cd out/release-0.1.0 && sha256sum --check SHA256SUMS && gpg --verify SHA256SUMS.asc SHA256SUMS)

exit codes: 0 done, 1 failed, 2 usage, or no such tag
EOF
}
die() { echo "release: $1" >&2; exit "${2:-1}"; }

make_wheel() { # with setuptools of Debian, not of a registry
    (cd "$work/$name/lab" && /usr/bin/python3 -c 'import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])' "$out") \
        >"$out/build.log" 2>&1 || die "the wheel failed (it needs python3-setuptools and python3-wheel): $out/build.log"
}

# No path of the build's folder is in any file: __FILE__ and debug sections name the source's own folders.
make_debs() {
    echo "release: building $name; this takes minutes"
    local build=$work/$name/build/$preset
    (cd "$work/$name" && cmake --preset "$preset" -DCMAKE_C_FLAGS="-ffile-prefix-map=$work/$name=." && cmake --build --preset "$preset" --target programs) \
        >>"$out/build.log" 2>&1 || die "the build failed: $out/build.log"
    (mkdir "$work/packages" && cd "$work/packages" && cpack -G DEB --config "$build/CPackConfig.cmake") >>"$out/build.log" 2>&1 ||
        die "the packages failed: $out/build.log"
    local package
    for package in "$work"/packages/*.deb; do # packed again, since cpack writes the time of day
        dpkg-deb --raw-extract "$package" "$work/raw"
        find "$work/raw" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
        dpkg-deb --root-owner-group -Zxz --build "$work/raw" "$out/${package##*/}" >>"$out/build.log"
        rm -r "$work/raw"
    done
}

tag='' out='' debs=yes preset=release key=''
while [ $# -gt 0 ]; do
    case $1 in
    --out) out=${2:?--out wants a folder}; shift ;;
    --preset) preset=${2:?--preset wants a name}; shift ;;
    --sign) key=${2:?--sign wants a key}; shift ;;
    --no-debs) debs=no ;;
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
python=$(git show "$tag:lab/pyproject.toml" | sed -n 's/^version = "\(.*\)"/\1/p')
[ "$python" = "$version" ] || die "tag $tag, but its lab/pyproject.toml has the version $python: change one of them" 2
out=${out:-$PWD/out/release-$version}
[ -z "$(ls -A "$out" 2>/dev/null)" ] || die "$out is not empty" 2
mkdir -p "$out"

umask 022
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER # each release is compiled, not taken from a cache of objects
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$tag^{commit}")
name=heliograph-$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git archive --format=tar --prefix="$name/" "$tag" | gzip -9n >"$out/$name.tar.gz"
tar -xzf "$out/$name.tar.gz" -C "$work"
make_wheel
[ "$debs" = no ] || make_debs
rm "$out/build.log"
(cd "$out" && python3 "$work/$name/tools/sbom.py" "$version" ./* >"$work/sbom.json" && mv "$work/sbom.json" "$name.spdx.json")
(cd "$out" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
[ -z "$key" ] || gpg --batch --local-user "$key" --armor --detach-sign --output "$out/SHA256SUMS.asc" "$out/SHA256SUMS" || die "gpg does not sign with $key"
echo "release: $out"
cat "$out/SHA256SUMS"
