#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Process 1 of the guest once the host's files are there. job.sh says what to do: NETWORK, SHARES, DIRECTORY,
# ENVIRONMENT, COMMAND. The runner follows the files that are written here: steps, stdout, stderr, exit.
run=/run/rdma_vm
exec </dev/null >>"$run/setup.log" 2>&1
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root

# A line of the file: the guest's clock and what begins now.
step() {
  local seconds
  read -r seconds _ </proc/uptime
  echo "$seconds $*" >>"$run/steps"
}

# Tells the runner why there is no exit code, and ends the machine.
fail() {
  echo "$*" >"$run/failure"
  echo b >/proc/sysrq-trigger
  while :; do :; done
}

step "file systems"
. "$run/job.sh"
for tag in "${!SHARES[@]}"; do
  # mmap: as uncached as without it, but files can be mapped.
  mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=mmap "share$tag" "${SHARES[tag]}" ||
    fail "could not mount the shared folder ${SHARES[tag]}"
done

step "network"
ln -s "$run/rdma-wire" /usr/bin/rdma-wire  # in everybody's PATH
bash -ex "$run/network.sh" "$NETWORK" || fail "could not set up RDMA; the folder's setup.log says where it stopped"

# What the host has no limit for either: descriptors and locked memory for many connections.
ulimit -l unlimited
ulimit -n 65536
ulimit -c 0
cd "$DIRECTORY" || fail "there is no folder $DIRECTORY in the guest (the host's /run, /dev, /proc and /sys are not there)"
step "command"
env -i "${ENVIRONMENT[@]}" "${COMMAND[@]}" >>"$run/stdout" 2>>"$run/stderr"
code=$?
step "end"
dmesg >"$run/kernel.log"
# Renamed, so that the runner never reads half of it.
echo "$code" >"$run/exit.new"
mv "$run/exit.new" "$run/exit"
# The runner ends the machine.
while :; do sleep 1; done
