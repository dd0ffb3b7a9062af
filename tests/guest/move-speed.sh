#!/bin/sh
# Batches against a bare loop of the system call on the same pages, which really move between two nodes; both take turns in
# one run, so that what else the host does meets both alike. The ratio is of processor work in an emulated machine.
# guest: --nodes 2 --timeout 150
# tier: slow
# programs: move_speed
. ./check.sh
only_asked_for_huge_pages
ratio_at_most() { awk -v most="$1" '{ print; n++; bad += $NF > most } END { exit !n || bad }' /tmp/speed; }

need move_speed 4000 41 >/tmp/speed
cat /tmp/speed
check "batches cost at most a tenth more than a bare loop" ratio_at_most 1.10
finish
