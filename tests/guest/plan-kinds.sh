#!/bin/sh
# A plan reaches every kind of memory: global data, heap, mappings, huge pages, stacks; in a program with libraries before its
# pages are touched; in a static one, where no library can be, the global data is moved from outside.
# guest: --nodes 4 --timeout 240
# programs: where owners owners_static homenode hold
# files: lib/acceptance.sh
. ./check.sh
. ./acceptance.sh
only_asked_for_huge_pages
cd /tmp

for program in owners owners_static; do
    kinds="data bss heap small mapped huge stack"
    [ $program = owners ] || kinds="data bss"
    balancing 1
    check "$program: record" homenode record --backend faults --tune-kernel -o $program.hnt -- $program -t 18
    cat /tmp/said
    check "$program: place" homenode place $program.hnt -o $program.json
    cat /tmp/said
    balancing 0
    start /tmp/$program.out homenode run --plan $program.json -- $program -t 12 -i 20 -f /tmp/$program.regions
    need wait_for 30 says "phase 0" /tmp/$program.out
    pid=$(pidof $program)
    for kind in $kinds; do
        grep "region $kind" $program.regions >/tmp/one-kind
        check "$program: $kind is where the plan says" where -w 5 regions $pid /tmp/one-kind
    done
    [ $program = owners_static ] || check "$program: huge pages are still huge" grep -q "AnonHugePages: *2048 kB" /proc/$pid/smaps
    check "$program: run ends well" wait $started
    check "$program: and loses no addition" says "verified OK" /tmp/$program.out
    cat /tmp/$program.out
done
finish
