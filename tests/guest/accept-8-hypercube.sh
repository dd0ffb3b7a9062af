#!/bin/sh
# The README's way on eight nodes, each a corner of a cube: a stencil whose first thread touched everything.
# guest: --nodes 8 --topology hypercube --memory-per-node 160M --timeout 240
# programs: where stencil homenode hold
# files: lib/acceptance.sh golden/topo-8-hypercube.txt
. ./check.sh
. ./acceptance.sh
only_asked_for_huge_pages
threads=8 rows=200 sweeps=800

check "topo: this machine" same_topo topo-8-hypercube.txt
check "doctor" homenode doctor
record_place_run
finish
