#!/bin/sh
# How much memory is used, beside whose it is: DAMON runs while hinting faults are sampled, and memory that no sample can come
# from (under an explicit policy) is told as used all the same. Without root nothing is said.
# guest: --nodes 2 --numa-balancing --timeout 200
# tier: slow
# programs: owners hinting homenode hold
. ./check.sh
[ -d /sys/kernel/debug/sched ] || need mount -t debugfs none /sys/kernel/debug
damon=/sys/kernel/mm/damon/admin/kdamonds
cd /tmp

# heat NAME: a recording of $pid, and what its manifest says of memory in use.
heat() {
    need homenode record -q --backend faults --tune-kernel --pid $pid --duration 8 -o $1.hnt
    grep -o "memory in use[^\"]*" $1.hnt/manifest.json >$1.said
    cat $1.said
}

check "the doctor finds DAMON" sh -c 'homenode doctor | grep -i damon | grep -q yes'
start owners.out owners -n -p 2 -t 60
pid=$started
sleep 3
heat free
check "memory in use is told" says "memory in use, whoever used it (DAMON," free.said
check "the monitor is taken down" grep -qx 0 $damon/nr_kdamonds
kill $pid
# 2,000 pages under a policy that ends hinting faults, used all the time.
start hinting.out hinting bind 1 1 40
pid=$started
sleep 3
heat bound
check "it is told where no sample can come from" says "no sample came, most of all" bound.said
kill $pid
finish
