#!/bin/sh
# Every kind of memory is moved home by bare system calls, judged by the independent witness: proves programs, witness and
# guest before Homenode is judged by them.
# guest: --nodes 4 --topology ring --timeout 90
# tier: slow
# programs: where mover owners owners_static stencil
. ./check.sh
only_asked_for_huge_pages

for program in owners owners_static; do
    start /tmp/$program.out $program -f /tmp/regions -i 50
    pid=$started
    need wait_for 60 says "phase 0" /tmp/$program.out
    check "$program: the witness and numa_maps agree" where maps $pid
    refute "$program: first touch leaves pages with the first thread" where regions $pid /tmp/regions
    check "$program: huge pages are huge" grep -q "AnonHugePages: *2048 kB" /proc/$pid/smaps
    check "$program: all pages are moved home" mover home $pid /tmp/regions
    check "$program: every page is on its owner's node" where regions $pid /tmp/regions
    check "$program: the witness and numa_maps still agree" where maps $pid
    check "$program: huge pages are still huge" grep -q "AnonHugePages: *2048 kB" /proc/$pid/smaps
    kill -USR1 $pid
    need wait_for 60 says "phase 1" /tmp/$program.out
    refute "$program: in the next phase others own them" where regions $pid /tmp/regions
    check "$program: and they are moved again" mover home $pid /tmp/regions
    check "$program: to where they belong now" where regions $pid /tmp/regions
    check "$program: loses no addition" stop $pid
    check "$program: says so" says "verified OK" /tmp/$program.out
done

start /tmp/stencil.out stencil -p 4 --pin -n 200 -i 1000000 -v
pid=$started
need wait_for 60 says "shared next" /tmp/stencil.out
address=0x$(awk '$2 == "now" { print $3 }' /tmp/stencil.out)
check "stencil: the whole grid is there" where -w 20 count $pid $address 6553600
refute "stencil: first touch leaves it with the first thread" where split $pid $address 6553600 32768 4
check "stencil: of four threads, one has its rows at home" where -l 25 split $pid $address 6553600 32768 4
kill -KILL $pid
finish
