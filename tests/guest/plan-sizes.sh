#!/bin/sh
# A plan of a small run serves a large one of the same build: every object keeps its shares. It goes through a script to the
# program, brings no page into memory that the program does not touch, and what nothing came of is said, with status 1.
# guest: --nodes 4 --timeout 360
# tier: slow
# programs: where stencil sparse homenode hold
# files: lib/acceptance.sh
. ./check.sh
. ./acceptance.sh
only_asked_for_huge_pages
threads=4
cd /tmp

balancing 1
check "record at one size" homenode record --backend faults --tune-kernel -o s.hnt -- stencil -p 4 --pin -n 200 -i 1000 -v
check "place" homenode place s.hnt -o plan.json
cat /tmp/said
balancing 0
printf '#!/bin/sh\nstencil "$@"\nexit $?\n' >wrap.sh
chmod +x wrap.sh
# A sample too few at the border of two parts is a row at the size of the recording, and two at twice that.
for rows in 400 100; do
    for wrap in "" ./wrap.sh; do
        # shellcheck disable=SC2086  # nothing or one word
        begin_stencil homenode run --plan plan.json -- ${wrap:-stencil} -p 4 -n $rows -i $((150000 / rows)) -v
        check "$rows rows ${wrap:-directly}: each part of both grids is with its thread" wait_for 60 grids_home $pid /tmp/stencil.out 95
        grids_home $pid /tmp/stencil.out 95
        check "$rows rows ${wrap:-directly}: numa_maps says so too" where maps $pid
        check "$rows rows ${wrap:-directly}: the program ends well" wait $started
        check "$rows rows ${wrap:-directly}: the report says that sizes differ" says "by shares" /tmp/stencil.out
        cat /tmp/stencil.out
    done
done

# What is not touched stays away: of 64 MB one page in sixteen is used.
balancing 1
check "record a program that uses little of what it has" homenode record --backend faults --tune-kernel -o f.hnt -- sparse 64 16 8
check "place it" homenode place f.hnt -o sparse.json
cat /tmp/said
balancing 0
for times in 1 2; do
    megabytes=$((64 * times))
    check "$megabytes MB: without a plan" sparse $megabytes 16 1
    alone=$(awk '$1 == "resident" { print $2 }' /tmp/said)
    check "$megabytes MB: with one" homenode run --plan sparse.json -- sparse $megabytes 16 1
    cat /tmp/said
    planned=$(awk '$1 == "resident" { print $2 }' /tmp/said)
    check "$megabytes MB: $planned KB in memory are hardly more than the $alone KB without" [ "$planned" -le $((alone + 2048)) ]
done

# Nothing to be placed.
printf '#!/bin/sh\nunset LD_PRELOAD\nexec sparse "$@"\n' >bare.sh
chmod +x bare.sh
check_status 1 "a plan of which nothing comes is no success" homenode run --plan sparse.json -- ./bare.sh 64 16 1
cp /tmp/said /tmp/nothing.out
cat /tmp/nothing.out
check "and that is said" says "NOTHING OF THE PLAN COULD BE PLACED" /tmp/nothing.out
check_status 3 "a plan of another program is refused" homenode run --plan sparse.json -- stencil -p 2
finish
