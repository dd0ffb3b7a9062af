#!/bin/sh
# The same for 30 minutes, with other batches every five, with Homenode's own mover in between, and at last with the kernel's
# balancing moving pages as well.
# guest: --nodes 4 --timeout 2700
# programs: mover pattern random_moves
# tier: slow
. ./check.sh

start /tmp/pattern.out pattern -p 3 7200 60
pid=$started
need wait_for 60 says "begins" /tmp/pattern.out
for batch in 1 7 64 1024; do
    check "pages are moved at random, $batch at once" mover random $pid 300 $batch $batch
    check "the program still runs after batches of $batch" kill -0 $pid
done
check "and by Homenode's mover, which says the truth" random_moves $pid 300 2
cat /tmp/said
echo 1 >/proc/sys/kernel/numa_balancing
check "pages are moved while the kernel moves them too" mover random $pid 300 3 64
check "no wrong byte" stop $pid
check "and it says so" says "pattern: OK" /tmp/pattern.out
cat /tmp/pattern.out
finish
