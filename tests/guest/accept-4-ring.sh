#!/bin/sh
# The README's way on four nodes in a ring: a stencil whose first thread touched everything.
# guest: --nodes 4 --topology ring --timeout 240
# tier: slow
# programs: where stencil homenode hold
# files: lib/acceptance.sh golden/topo-4-ring.txt
. ./check.sh
. ./acceptance.sh
only_asked_for_huge_pages
threads=4 rows=200 sweeps=1500

check "topo: this machine" same_topo topo-4-ring.txt
check "doctor" homenode doctor
record_place_run
migrate_running
finish
