#!/bin/sh
# The README's way on two nodes and a slow one without processors: nothing hot may stay there.
# guest: --nodes 2 --memory-only-node --hmat --timeout 240
# programs: where mover stencil homenode hold
# files: lib/acceptance.sh golden/topo-slow-tier.txt
. ./check.sh
. ./acceptance.sh
only_asked_for_huge_pages
threads=2 rows=200 sweeps=1500

check "topo: this machine" same_topo topo-slow-tier.txt
check "doctor" homenode doctor
record_place_run

# Both grids on the slow node, by hand: the live loop has to bring them back.
balancing 0
begin_stencil stencil -p $threads --pin -n $rows -i 1000000 -v
for grid in now next; do
    place=$(awk -v g=$grid '$1 == "shared" && $2 == g { print "0x" $3, $4 }' /tmp/stencil.out)
    # shellcheck disable=SC2086  # address and size are two words
    check "$grid begins on the slow node" mover node $pid $place 2
    awk -v g=$grid -v pid=$pid '$1 == "shared" && $2 == g { print "region", g, $3, $4, pid }' /tmp/stencil.out >>/tmp/grids
done
refute "the witness sees it there" where avoid $pid 2 /tmp/grids
balancing 1
start /tmp/migrate.out homenode migrate --pid $pid --duration 40 --json
migrate=$started
check "nothing hot is left on the slow node" where -w 60 avoid $pid 2 /tmp/grids
check "every hot page is on its user's node" wait_for 60 grids_home $pid /tmp/stencil.out
check "migrate ends" wait $migrate
cat /tmp/migrate.out
kill -KILL $pid
finish
