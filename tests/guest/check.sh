# Sourced by every scenario: checks are counted and reported one a line, in the form that the harness reads.
export PATH=/test:$PATH
checks=0
failed=0

# check NAME COMMAND...: passes if the command's status is 0.
check() {
    check_status 0 "$@"
}

# refute NAME COMMAND...: passes if the status is 1, "no"; a command that could not answer (2 and above) fails.
refute() {
    check_status 1 "$@"
}

# check_status STATUS NAME COMMAND...
check_status() {
    wanted=$1 name=$2
    shift 2
    status=0
    "$@" >/tmp/said 2>&1 </dev/null || status=$?
    checks=$((checks + 1))
    if [ $status = "$wanted" ]; then
        echo "ok: $name"
    else
        failed=$((failed + 1))
        echo "FAIL: $name -- status $status, not $wanted: $*"
        tail -n 40 /tmp/said | sed 's/^/    /'
    fi
}

# says WORDS FILE: the file contains these words.
says() {
    grep -qF -- "$1" "$2" || { tail -n 40 "$2"; return 1; }
}

# need COMMAND...: what a scenario cannot go on without.
need() {
    "$@" || { echo "needed, but status $?: $*"; exit 3; }
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
    tries=$(($1 * 10))
    shift
    until "$@" 2>/dev/null; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        usleep 100000
    done
}

# start FILE COMMAND...: in the background, output to FILE, process id in $started.
start() {
    file=$1
    shift
    rm -f "$file" # what a former run said there must not be taken for this one's
    "$@" >"$file" 2>&1 </dev/null &
    started=$!
}

# stop PID: asks it to end and returns its status.
stop() {
    kill -TERM "$1"
    wait "$1"
}

# Huge pages only where a program asks for them: else the kernel puts pages of several owners into one where it can.
only_asked_for_huge_pages() {
    echo madvise >/sys/kernel/mm/transparent_hugepage/enabled
}

# in_group NAME COMMAND...: becomes the command inside a control group that exists; for `start`.
in_group() {
    exec sh -c 'echo $$ >/sys/fs/cgroup/$0/cgroup.procs && exec "$@"' "$@"
}

# moved_pages: how many pages this kernel has ever moved.
moved_pages() {
    awk '$1 == "pgmigrate_success" { print $2 }' /proc/vmstat
}

# same_topo GOLDEN: `homenode topo` says what the file says, in the numbers: not compared are how much of a node's memory the
# kernel took for itself, the caches that QEMU invents, and explanations in prose.
same_topo() {
    homenode topo >/tmp/topo.out || return 2
    sed -E 's/ +[0-9]+ (KiB|MiB|GiB)  / SIZE  /; /^  (caches:|latencies|page copy)/d' /tmp/topo.out | diff "$1" -
}

# Ends every scenario.
finish() {
    echo "end: $checks checks"
    [ $failed = 0 ]
    exit
}

# What samples come from is opened and closed many times by what is tested; see there why one is kept open.
[ ! -x /test/hold ] || need hold
