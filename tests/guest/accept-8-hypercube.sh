#!/bin/sh
# The README's way on eight nodes, each a corner of a cube: a stencil whose first thread touched everything.
# guest: --nodes 8 --topology hypercube --memory-per-node 160M --timeout 240
# programs: where mover stencil homenode hold
# files: lib/acceptance.sh golden/topo-8-hypercube.txt
. ./check.sh
. ./acceptance.sh
only_asked_for_huge_pages
threads=8 rows=200 sweeps=800

check "topo: this machine" same_topo topo-8-hypercube.txt
check "doctor" homenode doctor
record_place_run

# The witness itself: rows that threads 1 and 2 use alike cost as much on nodes 0 and 3, between theirs, as on nodes 1 and 2.
begin_stencil homenode run --plan plan.json -- stencil -p $threads -n $rows -i 1000000 -v
need wait_for 60 grids_home $pid /tmp/stencil.out
border=$(awk '$1 == "shared" && $2 == "now" { print "0x" $3 }' /tmp/stencil.out)
border=$((border + 49 * 32768))
need mover node $pid $border 32768 3
check "a border between the nodes of its users is no misplaced page" grids_home $pid /tmp/stencil.out
need mover node $pid $border 32768 4
refute "a border beyond them is" grids_home $pid /tmp/stencil.out
kill -KILL $pid
finish
