#!/bin/sh
# The live loop alone: the kernel looks who uses a stencil's memory and moves nothing of it, so all that moves is Homenode's work.
# guest: --nodes 4 --topology ring --timeout 240
# tier: slow
# programs: where stencil bound homenode hold
# files: lib/acceptance.sh
. ./check.sh
. ./acceptance.sh
only_asked_for_huge_pages
threads=4 rows=400
cd /tmp
balancing 1

begin_stencil bound 0 stencil -p $threads --pin -n $rows -i 1000000 -v
sleep 5
refute "the kernel leaves the pages where they are" grids_home $pid /tmp/stencil.out
# Emulation makes deciding some twenty times dearer, not the seconds longer.
start /tmp/migrate.out homenode migrate --pid $pid --duration 90 --decide 50
migrate=$started
check "every hot page comes to its user's node" wait_for 80 grids_home $pid /tmp/stencil.out
grids_home $pid /tmp/stencil.out
check "the loop ends when its time is over" wait $migrate
cat /tmp/migrate.out
refute "and it was Homenode that moved them" says "moved         0 pages" /tmp/migrate.out
check "they are still there" grids_home $pid /tmp/stencil.out
kill -KILL $pid
finish
