#!/bin/sh
# `svm run --pin`: each node's heap is on the memory node of the node's first thread, whoever wrote its pages first; without it all of them are where
# their one writer ran.
# guest: --nodes 4 --timeout 240
# programs: where near homenode
. ./check.sh
cd /tmp

# at_home NODES FOLDER: of every node, its part of the pages is on the memory node of its first thread.
at_home() {
    node=0 elsewhere=0 # or 2: no answer
    while [ $node -lt $1 ]; do
        where regions $(cat $2/pid-$node) $2/node-$node
        status=$?
        [ $status -le $elsewhere ] || elsewhere=$status
        node=$((node + 1))
    done
    return $elsewhere
}

# The folder's last file is that of the last node to say something.
all_there() {
    [ $(ls $2 | grep -c '^pid-') = $1 ]
}

# ends NAME: tells the program to end, which it does well.
ends() {
    touch /tmp/$1/end
    check "$1: the program ends well" wait $started
}

# run NAME NODES OPTIONS...
run() {
    name=$1 nodes=$2
    shift 2
    mkdir /tmp/$name
    start /tmp/$name.out homenode svm run -n $nodes --heap 64MiB --homes block "$@" -- near /tmp/$name 60
    check "$name: all nodes have their pages" wait_for 60 all_there $nodes /tmp/$name
}

for transport in shm tcp; do
    run pinned-$transport 4 --pin --transport $transport
    check "--pin over $transport: each heap is with the first thread of its node" at_home 4 /tmp/pinned-$transport
    cat /tmp/said
    ends pinned-$transport
    # Threads 0 and 1 are on processors of two memory nodes, and so are 2 and 3.
    run pairs-$transport 2 --threads 2 --pin --transport $transport
    check "--pin of two threads a node over $transport: the first one's memory node" at_home 2 /tmp/pairs-$transport
    cat /tmp/said
    ends pairs-$transport
done
run free 4 --transport shm
refute "without --pin not all heaps are" at_home 4 /tmp/free
cat /tmp/said
ends free
finish
