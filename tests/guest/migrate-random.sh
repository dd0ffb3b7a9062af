#!/bin/sh
# Random migration under a program that knows every byte it wrote: 20 seconds.
# guest: --nodes 4 --timeout 90
# programs: where mover pattern
. ./check.sh

start /tmp/pattern.out pattern -p 4 600 40
pid=$started
need wait_for 60 says "begins" /tmp/pattern.out
check "pages are moved at random" mover random $pid 20 1
check "the program still runs" kill -0 $pid
check "no wrong byte" stop $pid
check "and it says so" says "pattern: OK" /tmp/pattern.out
cat /tmp/pattern.out /tmp/said
finish
