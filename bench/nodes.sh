#!/usr/bin/env bash
# What sandboxed nodes cost the process that runs them: user and system time of `strake up`, from /proc, for each N.
#   bench/nodes.sh sample N...   the sample job, from start to end
#   bench/nodes.sh idle N...     one minute of a cluster where nothing happens, after it has started
# STRAKE names the program (default: build/strake).
set -euo pipefail
strake=${STRAKE:-build/strake}
what=${1:?sample or idle}; shift

cpu_seconds() { # of a process, all its threads
  awk -v ticks="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); printf "%.2f\n", ($12 + $13) / ticks }' "/proc/$1/stat"
}

printf '%8s %10s %10s\n' nodes 'CPU s' 'a node, ms'
for nodes in "$@"; do
  state=$(mktemp -d)
  if [ "$what" = sample ]; then
    "$strake" up --nodes "$nodes" --once --state "$state" --listen 127.0.0.1:0 >"$state/log" 2>&1 &
    pid=$! spent=0
    while now=$(cpu_seconds "$pid" 2>/dev/null); do spent=$now; sleep 0.2; done
    wait "$pid" || { tail -5 "$state/log"; exit 1; }
  else
    "$strake" up --nodes "$nodes" --state "$state" --listen 127.0.0.1:0 >"$state/log" 2>&1 &
    pid=$!
    sleep $((20 + nodes / 10)) # every node has joined
    before=$(cpu_seconds "$pid"); sleep 60; after=$(cpu_seconds "$pid")
    spent=$(awk -v a="$after" -v b="$before" 'BEGIN { print a - b }')
    kill -INT "$pid"; wait "$pid" || true
  fi
  awk -v n="$nodes" -v s="$spent" 'BEGIN { printf "%8d %10.2f %10.1f\n", n, s, 1000 * s / n }'
  rm -rf "$state"
done
