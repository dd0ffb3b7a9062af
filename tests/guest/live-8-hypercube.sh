#!/bin/sh
# Eight nodes, each a corner of a cube: pages of a running stencil come to their users without a restart.
# guest: --nodes 8 --topology hypercube --memory-per-node 160M --timeout 400
# tier: slow
# programs: where stencil homenode hold
# files: lib/acceptance.sh
. ./check.sh
. ./acceptance.sh
only_asked_for_huge_pages
threads=8 rows=200

migrate_running
finish
