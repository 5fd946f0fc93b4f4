#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The rules that a machine can check: licence line, format, who may include what, plain words, documented public names. Sizes are only reported.
set -uo pipefail
cd "$(dirname "$0")/../.."
status=0
fail() {
    echo "style: $*"
    status=1
}
mapfile -t sources < <(git ls-files '*.c' '*.h')
mapfile -t others < <(git ls-files 'tests/transfers/*.cpp') # what a library whose interface is C++ wants
mapfile -t texts < <(git ls-files '*.c' '*.h' '*.cpp' '*.sh' '*.py' '*.cmake' '*CMakeLists.txt' '*.proto')
for f in "${texts[@]}"; do
    head -2 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || fail "$f: no SPDX line"
done
[ "$(wc -l <README.md)" -le 150 ] || fail "README.md: more than 150 lines"
[ "$(wc -l <ARCHITECTURE.md)" -le 200 ] || fail "ARCHITECTURE.md: more than 200 lines"
format=$(clang-format --dry-run -Werror "${sources[@]}" "${others[@]}" 2>&1)
[ -z "$format" ] || fail "clang-format (run clang-format -i): $(head -4 <<<"$format")"

# each folder includes only what its layer allows
may() { # FOLDER ALLOWED...
    local folder=$1 allowed
    allowed=$(IFS='|'; echo "${*:2}")
    grep -nE '^#include "' "$folder"/*.c "$folder"/*.h 2>/dev/null | grep -vE "#include \"($allowed)/" &&
        fail "$folder/ includes a folder that it must not"
}
may base base
for folder in os os/*/; do
    may "${folder%/}" base os
done
may conf os base conf
for folder in ltp ltp/*/; do
    may "${folder%/}" base ltp
done
for folder in bp/codec bp/codec/*/; do
    may "${folder%/}" base bp/codec
done
for folder in bp/agent bp/agent/*/; do
    may "${folder%/}" base bp/codec bp/agent
done
may bp/custody base bp/codec bp/custody
may store base bp store
may route base bp route
may frames base frames
may sle base sle
may cfdp base frames cfdp
may plans base bp/codec plans
may discovery base bp/codec discovery
may erasure base erasure
may erasure/isal erasure
may cla os base ltp bp cla conf frames sle erasure
may cla/ltp os base ltp bp cla conf frames erasure
may cla/framed os base bp cla conf frames sle
may cla/udp os base bp cla conf
may cla/bibe os base bp cla conf
may cla/tcpcl os base bp cla conf
for folder in node node/*/; do
    may "${folder%/}" os base ltp bp route cla conf frames sle node store discovery
done
# contact plans know no bundles: only the router does
git grep -nE '^#include "bp/' -- 'route/*.[ch]' | grep -vE '^route/plan_router' && fail "route/: only the router knows bundles"
may sim os base ltp sim channel-emu/chan channel-emu/scenario
git grep -nE '^#include "tools/' -- '*.[ch]' ':!tools' ':!tests' && fail "tools/ is for the programs alone"
# the session of TCPCL is pure: base only
for f in cla/tcpcl/tcpcl_{wire,session,parse,import,export,plan,check}.c cla/tcpcl/tcpcl_{wire,session,session_private}.h; do
    grep -nHE '^#include "' "$f" | grep -vE '"(base/|cla/tcpcl/tcpcl_(wire|session|session_private)\.h)' && fail "$f: a session is pure: base only"
done
# an adapter is one folder and one line of the table: nobody else includes its headers, but its tests;
# cla/framed/ is no adapter: adapters share it
for folder in cla/*/; do
    [ "$folder" != cla/framed/ ] || continue
    git grep -nE "^#include \"$folder" -- '*.c' '*.h' | grep -vE "^($folder|tests/)" &&
        fail "$folder: an adapter's headers are its own"
done
# and nobody else names one, but what writes configurations from those of other implementations
for name in $(grep -ohP '^    \.name = "\K[^"]+' cla/*/*.c); do
    git grep -nF "\"$name\"" -- 'cla/*.[ch]' 'node/*.[ch]' 'sim/*.[ch]' 'tools/*.[ch]' 'os/*.[ch]' 'bp/*.[ch]' 'conf/*.[ch]' |
        grep -vE '^(cla/[a-z]+/|tools/plan/import)' && fail "the adapter $name is named outside its folder"
done
git grep -nE 'extern const struct cla_ops' -- '*.c' '*.h' | grep -vE '^cla/([a-z]+/|cla\.c:)' &&
    fail "an adapter is named outside its folder and the table"
# a private header is its folder's and that of the folders below it
git grep -nE '^#include "[a-z/-]+_(impl|private)\.h"' -- '*.c' '*.h' |
    awk -F: '{dir = $1; sub("[^/]*$", "", dir); inc = $3; sub("^#include \"", "", inc); sub("[^/]*$", "", inc)
              if (index(dir, inc) != 1) {print; bad = 1}} END {exit !bad}' && fail "a private header is included from another folder"
# what touches the system is in os/ once
git grep -nwE 'clock_gettime|gettimeofday|signalfd|ppoll|recvmmsg|getaddrinfo|posix_spawnp?|pthread_create' \
    -- '*.c' ':!os' ':!tests' | grep -vE '^[^:]+:[0-9]+: (\*|/\*)|^[^:]+:[0-9]+:/\*' &&
    fail "the system's call belongs in os/: look what is there"
# one space of errors (base/err.h); LMDB's own are -errno
git grep -nE '(^|[^A-Za-z0-9_)])-(errno|E[A-Z]{3,})\b|strerror\(-' -- '*.c' '*.h' ':!tests/unit/store_reserve.c' |
    grep -vE 'libuv.s errors are' && fail "an error is HELIO_E*: helio_from_errno, helio_strerror"
for f in channel-emu/chan/*.[ch] channel-emu/chan/fading/*.[ch]; do
    grep -nHE '^#include "' "$f" | grep -vE '"(base/|channel-emu/chan/)' && fail "$f: chan is pure: base only"
done
only() { # HEADER PATTERN-OF-FILES
    git grep -lE "^#include <$1>" -- '*.c' '*.h' | grep -vE "$2" && fail "<$1> is included outside its one place"
}
only 'cbor.h' '^bp/codec/cbor\.c$'
only 'uv.h' '(^|/)uv_[a-z0-9_]+\.[ch]$'
only 'openssl/[a-z0-9_]+.h' '^(cla/ltp/auth_openssl\.c|os/tls/tls_[a-z]+\.[ch]|os/crypto/crypto_[a-z]+\.[ch]|cla/framed/sle_digest_openssl\.c|tools/(files/files_digest|perf/perf_echo)_openssl\.c|tests/(unit/(cla_auth\.c|tls_help\.h)|fuzz/fuzz_cla_tls\.c|interop/hand/csi_openssl\.c))$'
only 'p11-kit/[a-z0-9]+.h' '^(os/crypto/token_[a-z]+\.[ch]|tests/(unit/os_token|e2e/token_shim)\.c)$'
only 'matio.h' '^(channel-emu/trace/trace_mat(_path)?|tests/e2e/traces_mat)\.[ch]$'
only 'lmdb.h' '^store/store_lmdb[a-z_]*\.[ch]$'
only 'microhttpd.h' '^node/http/http_server\.c$'
only 'pcap.h' '^(channel-emu/emu/emu_pcap|tools/analyze/input/pcap_input)\.c$'
only 'udt.h' '^tests/transfers/transfer_udt\.cpp$'
only 'srt/srt.h' '^tests/transfers/transfer_srt\.c$'
only 'isa-l/[a-z_]+.h' '^erasure/isal/gf_isal\.c$'
only 'yaml.h' '^conf/conf_tree\.c$'
# tests rely on the check functions, which therefore assert with NDEBUG, too
for f in $(git grep -lE '^void [a-z_]*check\(const' -- '*.c'); do
    grep -q '^#undef NDEBUG' "$f" || fail "$f: a check function without #undef NDEBUG before it"
done
# a stack trace says where one is, and C++ can read what is C
mapfile -t named < <(git ls-files {base,os,conf,ltp,bp,store,route,frames,sle,cfdp,plans,discovery,erasure,cla,channel-emu,node,sim,tools}/'*.[ch]' |
    grep -v '^bp/agent/forwarding/agent_forward\.c')
python3 tests/style/names.py "${named[@]}" || fail "names (above)"
# plain words and short sentences; each public name has its comment; that these two can fail: style_test.py
python3 tests/style/prose.py || fail "words and sentences (above)"
python3 tests/style/public_names.py || fail "public names (above)"
python3 tests/style/style_test.py || fail "a mutation is not found (above)"
# sizes are reported, and fail nothing
python3 tests/style/numbers.py
# a reader who follows the documentation finds each file
for f in $(grep -ohP '((?<![a-z])(base|os|conf|ltp|bp|store|route|frames|sle|cla|sim|tools|channel-emu|tests|traces|docs|examples)|(?<=`)(node|lab))/[a-z][A-Za-z0-9_./*-]+' \
    README.md ARCHITECTURE.md docs/*.md | sed 's/[.,:)]*$//' | sort -u); do
    compgen -G "$f*" >/dev/null || [[ $f =~ (FILE|NAME)\. ]] || fail "the documentation names $f, which is not there"
done
# … and each heading that a link leads to
python3 tests/style/links.py >/dev/null || fail "links (above)"
[ $status -eq 0 ] && echo "style: ${#sources[@]} C files, ${#texts[@]} files with a licence line"
exit $status
