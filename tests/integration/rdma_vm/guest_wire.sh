#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a guest of --network wire; what happened goes to stdout, a line for each thing.
crossed() { cat /sys/class/net/veth1/statistics/rx_packets; }
states() { ibv_devinfo | awk '$1 == "hca_id:" {device = $2} $1 == "state:" {printf "%s %s ", device, $2}'; }

# Between the two devices, by queue pairs that exchange their addresses over TCP.
pingpong() {
  local before after server
  before="$(crossed)"
  ibv_rc_pingpong -d rxe1 -g 1 -n 200 -s 2048 >/dev/null 2>&1 &
  server=$!
  until grep -q ":$(printf %04X 18515) 0*:0000 0A" /proc/net/tcp /proc/net/tcp6; do :; done
  ibv_rc_pingpong -d rxe0 -g 1 -n 200 -s 2048 10.77.0.2 >/dev/null 2>&1
  echo "$1 client $?"
  wait "$server"
  echo "$1 server $?"
  after="$(crossed)"
  [ $((after - before)) -lt 200 ] || echo "$1 crossed the wire"
}

pingpong "plain"
rdma-wire netem 0 loss 5%
pingpong "lossy"
[ "$(tc -s qdisc show dev veth0 | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p')" = 0 ] || echo "lossy lost packets"
rdma-wire clear 0

echo "before: $(states)"
rdma-wire down 1
echo "down: $(states)"
rdma-wire up 1
echo "up: $(states)"

# Through the connection manager, which asks the routes and resolves addresses itself, over IPv4 and IPv6.
for ends in "10.77.0.1 10.77.0.2" "fd77::1 fd77::2"; do
  read -r here there <<<"$ends"
  # Nothing shows from outside when the server listens, so the client asks until it is let in.
  rping -s -a "$there" -C 5 >/dev/null 2>&1 &
  server=$!
  until rping -c -I "$here" -a "$there" -C 5 >/dev/null 2>&1 || ! kill -0 "$server"; do :; done
  wait "$server" && echo "rping reached $there"
done
