# SPDX-License-Identifier: Apache-2.0
"""Names: no keyword of C++ in C, and no static function that is one bare verb. usage: names.py FILE..."""
import re
import sys

KEYWORDS = set("""alignas alignof and and_eq bitand bitor bool catch class compl constexpr const_cast delete dynamic_cast
explicit export friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
reinterpret_cast requires static_cast template this throw try typeid typename using virtual xor xor_eq""".split()) - {"bool"}

VERBS = set("""absorb accept account acknowledge activate add admit advance allow analyse answer append apply arrive ask
attach become begin bind blank build call cancel capture charge check choose close coarsen collect compare complain
compose compute conclude connect consider consume convert copy count create credit cut decide defer del deliver
describe destroy detach dispatch divide draw drop dump emit enqueue end enter erase evict examine exceed exempt expire
explain explore extract fail feed fetch fill find finish fit fix flush fly fold follow forget format forward free
gather generate get give grow guess handle hold hurry init inject input insert join judge keep lay learn let limit link
list listen load lock look lose make map mark match measure merge move multiply narrow need note notify open order
output pack parse pass pause place play poll pop post prepare print probe process progress pull pump push put query
queue quit radiate read rebuild recall receive record recover refill refit refuse relay release relieve remember remove
renew renumber repair repeat replace reply report requeue reserve reset resize resolve restart restore resume retry
return rewrite rotate run save say scale schedule search seek select send serve set settle shift shorten show skip sleep
slurp sort split spread stamp start stop store subscribe sum summarise sweep swap switch take tell test tidy touch trim
try unlisten unlock unsend update use verify visit vote wait wake walk want watch write""".split())

SKIP = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#[ \t]*include[^\n]*',
                  re.DOTALL | re.MULTILINE)
STATIC = re.compile(r"^static (?!const struct \w+ \w+\b[^(]*=)[\w \*]*?\b([a-z]\w*)\(", re.MULTILINE)

wrong = 0
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as f:
        text = SKIP.sub(lambda m: re.sub(r"[^\n]+", " ", m[0]), f.read())
    for match in re.finditer(r"\b[a-z_]+\b", text):
        if match[0] in KEYWORDS:
            line = text.count("\n", 0, match.start()) + 1
            print(f"{path}:{line}: `{match[0]}` is a keyword of C++")
            wrong += 1
    for match in STATIC.finditer(text):
        if match[1] in VERBS:
            line = text.count("\n", 0, match.start()) + 1
            print(f"{path}:{line}: static function `{match[1]}`: a verb and a noun, please")
            wrong += 1
sys.exit(1 if wrong else 0)
