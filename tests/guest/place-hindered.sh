#!/bin/sh
# What stands in the way of moving, by bare system calls: a full node, a set of nodes that excludes the target, a process
# that ends meanwhile, a user without privileges.
# guest: --nodes 2 --memory-per-node 192M --timeout 120
# tier: slow
# programs: where mover owners pattern hog
. ./check.sh
only_asked_for_huge_pages
groups=/sys/fs/cgroup
echo "+cpuset" >$groups/cgroup.subtree_control

# A full node: what does not fit stays where it is, and nothing is lost.
start /tmp/hog.out hog 1 24
hog=$started
need wait_for 60 says "hog: holds" /tmp/hog.out
cat /tmp/hog.out
start /tmp/pattern.out pattern -p 2 600 100
pid=$started
need wait_for 60 says "begins" /tmp/pattern.out
mapped=$(awk '$2 == "mapped" { print $3, $4 }' /tmp/pattern.out)
# shellcheck disable=SC2086  # address and size are two words
start /tmp/full.out mover node $pid $mapped 1
status=0
wait $started || status=$?
cat /tmp/full.out
check "moving more than fits to a full node ends" [ $status -le 1 ]
check "and says that there was no room" says "refused" /tmp/full.out
# shellcheck disable=SC2086
where count $pid $mapped | tee /tmp/places
check "some pages stayed behind" says "node0=" /tmp/places
refute "none is lost" says "absent=" /tmp/places
check "the full node did not hurt the program" stop $pid
kill -KILL $hog

# cpuset: the kernel keeps pages off a node that the process must not use.
mkdir $groups/one
echo 0 >$groups/one/cpuset.mems
start /tmp/one.out in_group one owners -f /tmp/regions -i 20
pid=$started
need wait_for 60 says "phase 0" /tmp/one.out
check "the group's process runs" says "region heap" /tmp/regions
refute "its pages do not go to a node outside its set" where -l 51 regions $pid /tmp/regions
check_status 2 "and the kernel says so" mover home $pid /tmp/regions
check "it is unharmed" stop $pid

# A process that ends while its pages are moved.
for seed in 1 2 3; do
    start /tmp/gone.out pattern -p 2 600 20
    pid=$started
    need wait_for 60 says "begins" /tmp/gone.out
    start /tmp/mover.out mover random $pid 20 $seed 64
    mover=$started
    usleep 300000
    kill -KILL $pid
    check_status 3 "a process that ends meanwhile is no error ($seed)" wait $mover
    cat /tmp/mover.out
done
check_status 3 "nor one that is already gone" mover random $pid 1 1

# User 1000 moves what is his, and nothing of others.
start /tmp/user.out su user -s /bin/sh -c "exec /test/owners -f /tmp/user-regions -i 20"
need wait_for 60 says "phase 0" /tmp/user.out
pid=$(pidof owners)
check "a user moves pages of his process" su user -s /bin/sh -c "/test/mover home $pid /tmp/user-regions"
check "home" su user -s /bin/sh -c "/test/where regions $pid /tmp/user-regions"
check_status 2 "but not of root's" su user -s /bin/sh -c "/test/mover home 1 /tmp/user-regions"
kill -TERM $pid
check "and loses no addition" wait $started
finish
