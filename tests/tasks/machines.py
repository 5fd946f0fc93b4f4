# SPDX-License-Identifier: Apache-2.0
"""The three machines of docs/first-hour.md, as network namespaces that the caller has made: a station with a firewall, a router with NAT, a laboratory behind
it. A script of bash; {station}, {router} and {lab} are the namespaces' names."""

NETWORK = """
ip link add wan netns {router} type veth peer name eth0 netns {station}
ip link add lan netns {router} type veth peer name eth0 netns {lab}
ip -n {station} addr add 203.0.113.10/24 dev eth0
ip -n {router} addr add 203.0.113.1/24 dev wan
ip -n {router} addr add 192.168.1.1/24 dev lan
ip -n {lab} addr add 192.168.1.20/24 dev eth0
for n in {station} {router} {lab}; do ip -n $n link set lo up; done
ip -n {router} link set wan up; ip -n {router} link set lan up
ip -n {station} link set eth0 up; ip -n {lab} link set eth0 up
ip -n {lab} route add default via 192.168.1.1
ip netns exec {router} sysctl -qw net.ipv4.ip_forward=1
ip netns exec {router} nft 'add table ip out; add chain ip out post {{ type nat hook postrouting priority srcnat; }}
    add rule ip out post oifname wan masquerade'
ip netns exec {station} nft 'add table inet filter; add chain inet filter input {{ type filter hook input priority 0; policy drop; }}
    add rule inet filter input iif lo accept; add rule inet filter input ct state established,related accept'
"""
