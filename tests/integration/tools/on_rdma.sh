#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs where an RDMA device is: on_rdma.sh <weft> <folder>. Each file written there is what one test looks at.
weft="$1"
share="$2"
"$weft" info --json >"$share/info"
"$weft" info --rdma-gid-index 77 >"$share/bad_gid"
echo $? >"$share/bad_gid.code"

# serve <name> <flags>: a server, its process in $server and its URL in $url.
serve() {
  name="$1"
  shift
  "$weft" perf server "$@" >"$share/$name" 2>&1 &
  server=$!
  until grep -q '^listening on ' "$share/$name" || ! kill -0 $server 2>/dev/null; do :; done
  url="$(sed -n 's/^listening on //p' "$share/$name")"
}
# stop <name>
stop() {
  kill $server
  wait $server
  echo $? >"$share/$1.code"
}

serve server --listen verbs://127.0.0.1:0
"$weft" info --connect "$url" >"$share/connect"
"$weft" info --connect "$url" --json >"$share/connect.json"
"$weft" info --connect "tcp${url#verbs}" --json >"$share/tcp.json"
"$weft" info --connect "tcp${url#verbs}" --prefer-rdma --json >"$share/prefer.json"
"$weft" perf client --connect "$url" --seconds 1 --warmup 0.2 --json >"$share/perf.json" 2>"$share/perf.errors"
"$weft" perf client --connect "$url" --seconds 1 --warmup 0 --depth 2 --size 1MiB --attachment --json \
  >"$share/large.json" 2>"$share/large.errors"
"$weft" perf client --connect "tcp${url#verbs}" --prefer-rdma --seconds 0.5 --warmup 0 --json >"$share/prefer_perf.json"
stop server

# 127.0.0.1 is no address that a route of RDMA leads to.
address="$(sed -n 's/.*"address":"\([0-9.]*\)","chosen":true.*/\1/p' "$share/info")"
serve by_cm --listen "verbs://$address:0" --rdma-cm
"$weft" info --connect "$url" --rdma-cm >"$share/by_cm.info"
"$weft" perf client --connect "$url" --rdma-cm --seconds 0.5 --warmup 0 --json >"$share/by_cm.json" 2>"$share/by_cm.errors"
stop by_cm
