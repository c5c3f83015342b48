# Sourced by `scripts/test`: how a check is run, and how the tools come, pinned, into $CANARY_GATE_TOOLS, else
# ~/.cache/canary-gate-tools. Each function that installs says nothing unless it fails.
# shellcheck shell=bash

tools=${CANARY_GATE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/canary-gate-tools}
export CANARY_GATE_TOOLS=$tools
mkdir -p "$tools"
failed=()

# check NAME COMMAND...: runs a check and remembers a failure, so that one run shows all of them.
check() {
    local name=$1 since=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    "$@" || failed+=("$name")
    printf '   %s s\n' "$((SECONDS - since))"
}

# check_if_possible NAME COMMAND...: the same for a command that ends with 3, after a line `skipped: REASON`, where what it needs
# cannot be had.
check_if_possible() {
    local name=$1 since=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    "$@" || [ $? = 3 ] || failed+=("$name")
    printf '   %s s\n' "$((SECONDS - since))"
}

skipped() { printf '\n== %s\nskipped: %s\n' "$1" "$2"; }

# python_tool PACKAGE VERSION: installs a tool from PyPI; it is then $tools/python/bin/...
python_tool() {
    [ -x "$tools/python/bin/python" ] || python3 -m venv "$tools/python" || return 1
    "$tools/python/bin/pip" install --quiet --disable-pip-version-check "$1==$2"
}

# cargo_tool PACKAGE VERSION: builds a tool from crates.io, unoptimised, unless that version is there; it is then $tools/bin/PACKAGE.
cargo_tool() {
    [ "$("$tools/bin/$1" --version 2>/dev/null | head -n 1 | awk '{ print $2 }')" = "$2" ] && return 0
    cargo install --quiet --locked --debug --config 'profile.dev.debug=false' --root "$tools" "$1@$2"
}

# npm_tool PACKAGE VERSION: installs a package from npm unless that version is there; it is then $tools/node_modules/PACKAGE.
npm_tool() {
    local manifest=$tools/node_modules/$1/package.json
    [ -f "$manifest" ] && [ "$(node --print "require('$manifest').version")" = "$2" ] && return 0
    npm install --ignore-scripts --no-audit --no-fund --loglevel error --prefix "$tools" "$1@$2"
}

# apt_tool COMMAND PACKAGE...: installs packages of Debian or Ubuntu unless the command is there; only root can.
apt_tool() {
    local command=$1
    shift
    command -v "$command" >/dev/null && return 0
    [ "$(id --user)" = 0 ] && command -v apt-get >/dev/null || return 1
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends "$@" >/dev/null
}
