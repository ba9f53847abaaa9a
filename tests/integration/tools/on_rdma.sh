#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs where an RDMA device is: on_rdma.sh <weft> <folder>. Each file written there is what one test looks at.
weft="$1"
share="$2"
"$weft" info --json >"$share/info"
"$weft" info --rdma-gid-index 77 >"$share/bad_gid"
echo $? >"$share/bad_gid.code"

"$weft" perf server --listen verbs://127.0.0.1:0 >"$share/server" 2>&1 &
server=$!
until grep -q '^listening on ' "$share/server" || ! kill -0 $server 2>/dev/null; do :; done
url="$(sed -n 's/^listening on //p' "$share/server")"
"$weft" info --connect "$url" >"$share/connect"
"$weft" info --connect "$url" --json >"$share/connect.json"
"$weft" info --connect "tcp${url#verbs}" --json >"$share/tcp.json"
"$weft" info --connect "tcp${url#verbs}" --prefer-rdma --json >"$share/prefer.json"
"$weft" perf client --connect "$url" --seconds 1 --warmup 0.2 --json >"$share/perf.json" 2>"$share/perf.errors"
"$weft" perf client --connect "$url" --seconds 1 --warmup 0 --depth 2 --size 1MiB --attachment --json \
  >"$share/large.json" 2>"$share/large.errors"
kill $server
wait $server
echo $? >"$share/server.code"
