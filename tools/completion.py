#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completions for bash and zsh, from what a program's own --help says of its options and commands.
usage: completion.py BASH-FOLDER ZSH-FOLDER PROGRAM..."""

import os
import re
import subprocess
import sys

OPTION = re.compile(r"^ {2,6}(?:(-\w), )?(--[a-z][a-z-]*)(?:[\[= ]+([A-Z][^\s\]]*|[a-z|0-9]+\|[a-z|0-9]+))?")
SHORT = re.compile(r"^ {2,6}(-\w)(?:, | )")
COMMAND = re.compile(r"^  ([a-z][a-z-]+)(?: [A-Zaf\[]|  )")


def help_of(*command):
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
    return done.stdout if done.returncode == 0 else ""


def add_words(text, options, commands):
    for line in re.split(r"\nexamples:", text, flags=re.IGNORECASE)[0].splitlines():
        m = OPTION.match(line)
        if m:
            for name in filter(None, m.groups()[:2]):
                options.setdefault(name, m.group(3) is not None)
        elif COMMAND.match(line) and COMMAND.match(line).group(1) not in commands:
            commands.append(COMMAND.match(line).group(1))


def words_of(program):
    """Options {name: takes a value}, commands, in the order of the text; a command may have options of its own."""
    options, commands, text = {}, [], help_of(program)
    add_words(text, options, commands)
    usage = re.findall(r"(?m)^ *(?:usage|or)?:? *" + re.escape(os.path.basename(program)) + r" ([a-z]+(?:\|[a-z]+)*)(?= |$)", text, re.IGNORECASE)
    named = [word for words in usage for word in words.split("|")]
    for command in dict.fromkeys(named):
        if command not in commands:
            commands.append(command)
        add_words(help_of(program, command), options, [])
    return options, commands


def bash(name, options, commands):
    function = "_" + name.replace("-", "_")
    valued = "|".join(o for o, value in options.items() if value) or "-"
    return f"""# bash completion of {name}; made from its --help
{function}() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    COMPREPLY=()
    case $before in
        {valued}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "{' '.join(options)}" -- "$word")
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -W "{' '.join(commands)}" -- "$word"; compgen -f -- "$word")
    fi
}}
complete -F {function} {name}
"""


def zsh(name, options, commands):
    lines = [f"    '{o}{'=' if value and o.startswith('--') else ''}[]{':value:_files' if value else ''}' \\" for o, value in options.items()]
    first = f"    '1:command:({' '.join(commands)})' \\\n" if commands else ""
    return f"#compdef {name}\n# made from its --help\n_arguments \\\n" + "\n".join(lines) + f"\n{first}    '*:file:_files'\n"


def main():
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    made = {"bash": (bash, "{}"), "zsh": (zsh, "_{}")}
    for program in sys.argv[3:]:
        words, name = words_of(program), os.path.basename(program)
        for folder, shell in zip(sys.argv[1:3], ("bash", "zsh")):
            make, file = made[shell]
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, file.format(name)), "w", encoding="utf-8") as f:
                f.write(make(name, *words))
    return 0


if __name__ == "__main__":
    sys.exit(main())
