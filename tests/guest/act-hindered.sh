#!/bin/sh
# Homenode where something stands in the way: a full node, an excluded node, a program that ends, a user without privileges,
# a plan of another program, a process that is not there.
# guest: --nodes 2 --memory-per-node 192M --timeout 280
# programs: where hog owners pattern stencil homenode hold
# files: lib/acceptance.sh
. ./check.sh
. ./acceptance.sh
only_asked_for_huge_pages
cd /tmp
balancing 1
groups=/sys/fs/cgroup
echo "+cpuset" >$groups/cgroup.subtree_control

# A full node.
start /tmp/hog.out hog 1 24
hog=$started
need wait_for 60 says "hog: holds" /tmp/hog.out
start /tmp/pattern.out pattern -p 2 600 60
pid=$started
need wait_for 60 says "begins" /tmp/pattern.out
check "a full node is no failure" homenode migrate --pid $pid --duration 10
cat /tmp/said
check "the full node did not hurt the program" stop $pid
kill -KILL $hog

# An excluded node.
mkdir $groups/one
echo 0 >$groups/one/cpuset.mems
start /tmp/one.out in_group one owners -f /tmp/regions
pid=$started
need wait_for 60 says "phase 0" /tmp/one.out
check "a node that the process must not use is no failure" homenode migrate --pid $pid --duration 8
cat /tmp/said
refute "nothing went there" where -l 51 regions $pid /tmp/regions
check "the program is unharmed" stop $pid

# A program that ends while its pages are moved.
start /tmp/gone.out owners -t 6
pid=$started
need wait_for 60 says "phase 0" /tmp/gone.out
check "a program that ends meanwhile is no failure" homenode migrate --pid $pid --duration 60
cat /tmp/said
check "and it ended well" wait $pid
check_status 3 "a process that is not there" homenode migrate --pid $pid --duration 1
cat /tmp/said

# A user without privileges: refused in words, then allowed.
as_user() {
    su user -s /bin/sh -c "cd /tmp && PATH=/test:/bin $*"
}
echo 3 >/proc/sys/kernel/perf_event_paranoid
check_status 2 "sampling is forbidden to the user" as_user homenode record --backend faults --tune-kernel -o u.hnt -- owners -t 1
cp /tmp/said /tmp/message
check "and the message says what forbids it" says perf_event_paranoid /tmp/message
check "doctor says so too" as_user "homenode doctor | grep perf_event_paranoid"
echo 1 >/proc/sys/kernel/perf_event_paranoid
start /tmp/user.out as_user exec owners -f /tmp/user-regions
need wait_for 60 says "phase 0" /tmp/user.out
pid=$(pidof owners)
check "an allowed user moves pages of his process" as_user homenode migrate --pid $pid --duration 20
cat /tmp/said
check "and they are home" where -l 99 regions $pid /tmp/user-regions
refute "nobody moves pages of another user's process" as_user homenode migrate --pid 1 --duration 1
kill -TERM $pid
check "the user's program lost no addition" wait $started

# A plan of another program.
check "record" homenode record --backend faults --tune-kernel -o own.hnt -- owners -t 6
check "place" homenode place own.hnt -o own.json
check_status 3 "a plan of another program is refused" homenode run --plan own.json -- stencil -p 2
finish
