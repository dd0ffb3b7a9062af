#!/bin/sh
# The same for 30 minutes, with other batches every five, and with the kernel's own balancing moving pages in between.
# guest: --nodes 4 --numa-balancing --timeout 2400
# programs: where mover pattern
# tier: slow
. ./check.sh

start /tmp/pattern.out pattern -p 4 7200 60
pid=$started
need wait_for 60 says "begins" /tmp/pattern.out
for batch in 1 7 64 512 4096 64; do
    check "pages are moved at random, $batch at once" mover random $pid 300 $batch $batch
    check "the program still runs after batches of $batch" kill -0 $pid
done
check "no wrong byte" stop $pid
check "and it says so" says "pattern: OK" /tmp/pattern.out
cat /tmp/pattern.out
finish
