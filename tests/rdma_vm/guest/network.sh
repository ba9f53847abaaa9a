# SPDX-License-Identifier: Apache-2.0
# Makes the RDMA devices of the guest; the argument is what --network says.
#
#   one-device   rxe0 on veth0. Both ends of a connection are on it, and rxe returns the packets itself.
#   wire         rxe0 on veth0, rxe1 on veth1, the two ends of one wire. Everything between 10.77.0.1 and 10.77.0.2
#                crosses the wire, so that what is done to veth0 and veth1 acts on it.
#
# Each program that begins here costs a tenth of a second or two, so ip and rdma take many commands at once.
network="$1"
# Soft-RoCE carries the largest RDMA packet (4096 bytes) and its headers in one frame of this size.
frame_bytes=4200

modprobe -a veth rdma_rxe rdma_ucm
ip -batch - <<TEXT
link set lo up
link add veth0 mtu $frame_bytes type veth peer name veth1 mtu $frame_bytes
TEXT
# Without this the IPv6 addresses would go when a test takes an end down.
echo 1 >/proc/sys/net/ipv6/conf/veth0/keep_addr_on_down
echo 1 >/proc/sys/net/ipv6/conf/veth1/keep_addr_on_down

ip -batch - <<TEXT
address add 10.77.0.1/24 dev veth0
address add fd77::1/64 dev veth0 nodad
link set veth0 up
link set veth1 up
TEXT
devices=(0)

if [ "$network" = wire ]; then
  devices=(0 1)
  # A packet from one of our own addresses is usually taken for forged when it comes in from a wire.
  echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
  for number in 0 1; do
    echo 0 >"/proc/sys/net/ipv4/conf/veth$number/rp_filter"
    echo 1 >"/proc/sys/net/ipv4/conf/veth$number/accept_local"
  done
  ip -batch - <<TEXT
address add 10.77.0.2/24 dev veth1
address add fd77::2/64 dev veth1 nodad
TEXT
  "$(dirname "$0")/rdma-wire" connect
fi

for number in "${devices[@]}"; do
  echo "link add rxe$number type rxe netdev veth$number"
done | rdma -b -
# The kernel makes the files of the devices by itself, after rdma has ended.
for number in "${devices[@]}"; do
  until [ -e "/dev/infiniband/uverbs$number" ]; do :; done
done
