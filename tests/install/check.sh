#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build, moves it, and uses it from elsewhere: every header by itself in C and C++, the example by pkg-config
# and by CMake in both languages and with both compilers; programs; staged below DESTDIR. usage: check.sh BUILD OUT
set -euo pipefail
build=$(realpath "$1")
rm -rf "$2"
mkdir -p "$2"
out=$(realpath "$2")
source=$(cd "$(dirname "$0")/../.." && pwd)
fail() { echo "install: $*"; exit 1; }

# staged, as a package is made
DESTDIR=$out/staged cmake --install "$build" --prefix /usr >"$out/staged.log"
[ "$(ls "$out/staged")" = usr ] || fail "something is outside of the prefix: $(ls "$out/staged")"
for file in bin/heliod bin/helio-sim include/heliograph/ltp/ltp.h; do
    [ -e "$out/staged/usr/$file" ] || fail "$file is not below DESTDIR"
done

# into a prefix that then moves
cmake --install "$build" --prefix "$out/first" >"$out/first.log"
mv "$out/first" "$out/moved"
prefix=$out/moved
grep -rIlE "$build|$out|\"(base|ltp|bp|route|frames|sle|chan|channel-emu)/" "$prefix"/include "$prefix"/lib*/*/*.pc "$prefix"/lib*/*/*/*.pc \
    "$prefix"/lib*/cmake "$prefix"/lib*/*/cmake 2>/dev/null && fail "these name the folder of the build, or a header that is not installed"
"$prefix/bin/helio-bundle" --version >/dev/null || fail "helio-bundle does not run"
"$prefix/bin/helio-tune" --help >/dev/null || fail "helio-tune does not run"

# no name beside those of the public headers
python3 "$source/tests/install/exports.py" "$prefix" "$out/exports" || fail "the libraries export what they must not"

# hardened, unless the build was told otherwise
if grep -q '^HELIO_HARDEN:BOOL=ON' "$build/CMakeCache.txt"; then
    python3 "$source/tests/install/hardened.py" "$prefix" "$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' "$build/CMakeCache.txt")" ||
        fail "the installed programs are not hardened"
fi

# what shells and systemd take
for shell in bash-completion/completions/ zsh/site-functions/_; do
    for program in heliod helioctl helio-perf helio-tune; do
        [ -s "$prefix/share/$shell$program" ] || fail "no completion of $program: share/$shell$program"
    done
done
for file in "$prefix"/share/bash-completion/completions/*; do
    bash -n "$file" || fail "$file is no shell script"
done
complete() { # WORDS...: what bash offers for the last one
    (cd / && bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; "_${1//-/_}"; printf "%s\n" "${COMPREPLY[@]}"' \
        "$prefix/share/bash-completion/completions/$1" "$@")
}
[ "$(complete helioctl ba)" = backlog ] || fail "helioctl ba is not completed: $(complete helioctl ba)"
[ "$(complete heliod --ch)" = --check ] || fail "heliod --ch is not completed: $(complete heliod --ch)"
[ "$(complete helio-perf client --no-f)" = --no-fragment ] || fail "helio-perf client --no-f is not completed"
if command -v zsh >/dev/null; then
    for file in "$prefix"/share/zsh/site-functions/_*; do
        zsh -n "$file" || fail "$file is no script of zsh"
    done
fi
if command -v systemd-analyze >/dev/null; then
    sed "s|/usr/bin/heliod|$prefix/bin/heliod|" "$prefix/lib/systemd/system/heliod@.service" >"$out/heliod@.service"
    said=$(systemd-analyze verify --man=no "$out/heliod@.service" 2>&1) || fail "systemd does not take the unit: $said"
    echo "$said" | grep -q 'heliod@' && fail "systemd says of the unit: $said"
    systemd-analyze security --offline=yes --threshold=25 "$out/heliod@.service" >"$out/exposure.txt" 2>&1 ||
        fail "systemd finds the unit more exposed than 2.5 of 10: $(tail -1 "$out/exposure.txt")"
fi
unit=$prefix/lib/systemd/system/heliod@.service
grep -q '^ExecReload=' "$unit" || fail "the unit of systemd is not there"
# without a path: systemd takes a missing credential with one as an error, and a node may have none
grep -q '^LoadCredential=%i.key$' "$unit" || fail "the unit does not load the node's private key as a credential"
grep '^LoadCredential=.*:' "$unit" && fail "a node without this credential would not start"

# pages that name files of the source say so
python3 "$source/tests/install/pages.py" "$prefix" || fail "installed pages send readers to files that are not there"

# each header is whole, in every language; arrays without a length are C's, which every C++ compiler knows
for header in $(cd "$prefix/include" && find heliograph -name '*.h'); do
    grep -q 'extern "C"' "$prefix/include/$header" || fail "$header: no extern \"C\""
    for language in 'gcc -x c -std=c11' 'g++ -x c++ -std=c++11' 'clang -x c -std=c11' 'clang++ -x c++ -std=c++20 -Wno-c99-extensions'; do
        # shellcheck disable=SC2086
        echo "#include <$header>" | ${language%% *} -Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only \
            -I"$prefix/include" ${language#* } - || fail "$header: $language refuses it"
    done
done

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name helio-ltp.pc)")
export PKG_CONFIG_PATH
example=$source/examples/lossy_link.c
for cc in 'gcc -x c' 'g++ -x c++' 'clang -x c' 'clang++ -x c++'; do
    # shellcheck disable=SC2046
    $cc -Wall -Wextra -Werror "$example" -x none $(pkg-config --cflags --libs helio-ltp helio-chan) -o "$out/example"
    "$out/example" | tee "$out/example.txt"
done
# shellcheck disable=SC2046
g++ "$source/tests/install/consumer/eid.cpp" $(pkg-config --cflags --libs helio-bp-agent) -o "$out/eid"
"$out/eid" || fail "the bundle library does not work"

cmake -S "$source/tests/install/consumer" -B "$out/consumer" -DCMAKE_PREFIX_PATH="$prefix" -DEXAMPLE="$example" \
    >"$out/consumer.log" && cmake --build "$out/consumer" >>"$out/consumer.log" || { cat "$out/consumer.log"; exit 1; }
for program in in_c in_cxx; do
    cmp <("$out/consumer/$program") "$out/example.txt" || fail "$program does something else"
done
"$out/consumer/eid" || fail "the bundle library does not work by CMake"
sed 's/COMPONENTS ltp/COMPONENTS tcpcl/' "$source/tests/install/consumer/CMakeLists.txt" >"$out/CMakeLists.txt"
mkdir -p "$out/no" && mv "$out/CMakeLists.txt" "$out/no"
! cmake -S "$out/no" -B "$out/no/build" -DCMAKE_PREFIX_PATH="$prefix" -DEXAMPLE="$example" >"$out/no.log" 2>&1 ||
    fail "a component that is not there was found"
grep -q tcpcl "$out/no.log" || fail "nothing says which component is missing"
echo "install: $(find "$prefix/include" -name '*.h' | wc -l) headers, $(find "$prefix" -name '*.a' | wc -l) libraries"
