# The way of the README, for any number of nodes: record, report, place, run; then migrate while running. Sourced after
# check.sh by scenarios that set `threads`.

# balancing 0|1: the kernel's own, which moves pages too.
balancing() {
    echo "$1" >/proc/sys/kernel/numa_balancing
}

# grids_home PID OUTPUT: all pages of both grids of a stencil, whose output is OUTPUT, are with the threads that use them.
grids_home() {
    for grid in now next; do
        place=$(awk -v g=$grid '$1 == "shared" && $2 == g { print "0x" $3, $4 }' "$2")
        [ -n "$place" ] || return 2
        # shellcheck disable=SC2086  # address and size are two words
        where -b split "$1" $place 32768 "$threads" || return
    done
}

# begin_stencil COMMAND...: starts it in the background with output to /tmp/stencil.out; its process id in $pid.
begin_stencil() {
    start /tmp/stencil.out "$@"
    need wait_for 60 says "shared next" /tmp/stencil.out
    need wait_for 60 pidof stencil >/dev/null
    pid=$(pidof stencil)
}

record_place_run() {
    cd /tmp
    balancing 1
    check "record" homenode record --backend faults --tune-kernel -o s.hnt -- stencil -p $threads --pin -n $rows -i $sweeps -v
    cat /tmp/said
    check "the recording is sound" homenode check s.hnt
    check "report" homenode report s.hnt --machine this
    cat /tmp/said
    check "place" homenode place s.hnt -o plan.json
    cat /tmp/said
    balancing 0
    begin_stencil homenode run --plan plan.json -- stencil -p $threads -n $rows -i $sweeps -v
    check "run: every hot page is on its user's node" wait_for 60 grids_home $pid /tmp/stencil.out
    grids_home $pid /tmp/stencil.out
    check "run: the program ends well" wait $started
    check "run: with the right result" says "verified OK" /tmp/stencil.out
    cat /tmp/stencil.out
}

migrate_running() {
    cd /tmp
    balancing 1
    begin_stencil stencil -p $threads --pin -n $rows -i 1000000 -v
    start /tmp/migrate.out homenode migrate --pid $pid --duration 40 --json
    migrate=$started
    check "migrate: every hot page is on its user's node" wait_for 60 grids_home $pid /tmp/stencil.out
    grids_home $pid /tmp/stencil.out
    check "migrate: ends" wait $migrate
    cat /tmp/migrate.out
    check "migrate: they are still there" grids_home $pid /tmp/stencil.out
    kill -KILL $pid
}
