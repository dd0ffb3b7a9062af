#!/bin/sh
# The table of docs/design/live.md on 4 nodes: a program whose owners change, its own count and what was printed, in every regime.
# guest: --nodes 4 --cpus-per-node 1 --timeout 7000
# tier: slow
# programs: shifting homenode hold
# files: lib/shifting.sh
. ./check.sh
. ./shifting.sh
only_asked_for_huge_pages
nodes=4
cd /tmp
owners_table 5 3 15 20
finish
