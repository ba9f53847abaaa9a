#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a guest of --network wire; what happened goes to stdout, a line for each thing.
crossed() { cat /sys/class/net/veth1/statistics/rx_packets; }
state() { cat "/sys/class/infiniband/$1/ports/1/state"; }

# The end that was not touched follows its neighbour a moment later, so this waits; the runner's time-out is the end.
both_become() {
  until [ "$(state rxe0), $(state rxe1)" = "$1, $1" ]; do :; done
  echo "both ports: $1"
}

# Between the two devices, by queue pairs that exchange their addresses over TCP.
pingpong() {
  local before after server
  before="$(crossed)"
  ibv_rc_pingpong -d rxe1 -g 1 -e -n 100 -s 2048 >/dev/null 2>&1 &
  server=$!
  until grep -q ":$(printf %04X 18515) 0*:0000 0A" /proc/net/tcp /proc/net/tcp6; do :; done
  ibv_rc_pingpong -d rxe0 -g 1 -e -n 100 -s 2048 10.77.0.2 >/dev/null 2>&1
  echo "$1 client $?"
  # Once everything has arrived the client goes, and a server whose last acknowledgement got lost would ask for
  # it for ever: that is what 7 retries mean here.
  [ "$1" = plain ] || kill "$server" 2>/dev/null
  wait "$server"
  echo "$1 server $?"
  after="$(crossed)"
  [ $((after - before)) -lt 100 ] || echo "$1 crossed the wire"
}

pingpong "plain"
rdma-wire netem 0 loss 8%
pingpong "lossy"
[ "$(tc -s qdisc show dev veth0 | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p')" = 0 ] || echo "lossy lost packets"
rdma-wire clear 0

both_become "4: ACTIVE"
rdma-wire down 1
both_become "1: DOWN"
rdma-wire up 1
both_become "4: ACTIVE"

# Through the connection manager, which asks the routes and resolves addresses itself, over IPv4 and IPv6.
for ends in "10.77.0.1 10.77.0.2" "fd77::1 fd77::2"; do
  read -r here there <<<"$ends"
  # Nothing shows from outside when the server listens, so the client asks until it is let in.
  rping -s -a "$there" -C 5 >/dev/null 2>&1 &
  server=$!
  until rping -c -I "$here" -a "$there" -C 5 >/dev/null 2>&1 || ! kill -0 "$server"; do :; done
  wait "$server" && echo "rping reached $there"
done
