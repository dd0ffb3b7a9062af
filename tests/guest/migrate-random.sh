#!/bin/sh
# Random migration under a program that knows every byte it wrote: 20 seconds, half of them by bare calls and
# half by Homenode's own mover, whose verdicts are compared with the kernel's.
# guest: --nodes 4 --timeout 90
# tier: slow
# programs: mover pattern random_moves
. ./check.sh

start /tmp/pattern.out pattern -p 3 600 40
pid=$started
need wait_for 60 says "begins" /tmp/pattern.out
check "pages are moved at random" mover random $pid 10 1 64
cat /tmp/said
check "and by Homenode's mover, which says the truth" random_moves $pid 10 2
cat /tmp/said
check "the program still runs" kill -0 $pid
check "no wrong byte" stop $pid
check "and it says so" says "pattern: OK" /tmp/pattern.out
cat /tmp/pattern.out
finish
