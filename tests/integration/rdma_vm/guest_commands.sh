#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the guest. The argument is a folder that the host shares; each file written there is what one test looks at.
share="$1"
echo "begun" # the host answers this with a file, so it must have arrived while we run
until [ -e "$share/answer" ]; do :; done
echo "to the other one" >&2
printf '%s\n' "$PWD" "$GREETING" "$INHERITED" "$WEFT_RDMA_VM" >"$share/surroundings"

beside="$(dirname "$0")/written_in_the_guest"
echo "only here" >"$beside" && cp "$beside" "$share/overlay"

ibv_devinfo >"$share/devinfo"

# Pings between two processes. The server is there when its TCP port is.
ibv_rc_pingpong -g 1 -n 100 >"$share/pingpong.server" 2>&1 &
until grep -q ":$(printf %04X 18515) 0*:0000 0A" /proc/net/tcp /proc/net/tcp6; do :; done
ibv_rc_pingpong -g 1 -n 100 10.77.0.1 >"$share/pingpong.client" 2>&1
echo "client $?" >"$share/pingpong.codes"
wait $!
echo "server $?" >>"$share/pingpong.codes"
exit 7
