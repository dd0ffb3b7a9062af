# `shifting` counts itself how many of its accesses were local; `homenode run --compare` says what it metered. Sourced after check.sh.

# compared REGIME SECONDS TOTAL [OPTIONS...]: one run with a new phase every SECONDS. In percent: $printed, $own (by processor time, as what
# is printed; what agrees is these two) and $own_accesses (by accesses, which differs where processors are stopped by their host).
compared() {
    regime=$1 phase_s=$2 total_s=$3
    shift 3
    homenode run --json --compare $regime "$@" -- shifting -n 4 -k a -s $phase_s -T $total_s >/tmp/both 2>&1 || return 2
    own=$(awk '/^shifting: local/ { print $9 }' /tmp/both)
    own_accesses=$(awk '/^shifting: local/ { print $3 }' /tmp/both)
    printed=$(grep -o '"locality":[0-9.]*' /tmp/both | cut -d: -f2 | awk 'NR == 1 { printf "%.2f", 100 * $1 }')
    moved=$(grep -o '"moved_pages":[0-9]*' /tmp/both | cut -d: -f2 | head -n 1)
    by_kernel=$(grep -o '"kernel_moves":[0-9]*' /tmp/both | cut -d: -f2 | head -n 1)
    echo "row: $regime nodes $nodes phase $phase_s s own $own (accesses $own_accesses) printed ${printed:-none} moved ${moved:-none} by kernel ${by_kernel:-none}"
    [ -n "$own" ] && grep -q ' 0 wrong words' /tmp/both
}

# agrees: what was printed is within 5 points of what the program counted.
agrees() {
    [ -n "$printed" ] || { cat /tmp/both; return 1; }
    awk -v a="$own" -v b="$printed" 'BEGIN { exit !(a - b <= 5 && b - a <= 5) }' || { echo "own $own, printed $printed"; return 1; }
}

# agrees_or_again REGIME SECONDS TOTAL [OPTIONS...]: what `compared` said agrees, or what it says of a second run does. A processor that its
# host stops leaves one sample for all that time, which may weigh as much as all others together; a wrong count is wrong twice.
agrees_or_again() {
    agrees || { compared "$@" && agrees; }
}

# settings: every kernel-wide setting that Homenode ever touches.
settings() {
    grep -s . /proc/sys/kernel/numa_balancing /sys/kernel/debug/sched/numa_balancing/* \
        /sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds
}

# scan_by_hand: the kernel's scan settings as somebody sets them who wants a program of some 30 MB looked at all the time.
scan_by_hand() {
    scans=/sys/kernel/debug/sched/numa_balancing
    echo 100 >$scans/scan_delay_ms
    echo 200 >$scans/scan_period_min_ms
    echo 1000 >$scans/scan_period_max_ms
    echo 256 >$scans/scan_size_mb
}

# balancing 0|1: the kernel's own, with its scan settings as they are.
balancing() {
    echo "$1" >/proc/sys/kernel/numa_balancing
}

# as_it_was: every setting as /tmp/untouched has it.
as_it_was() {
    while IFS=: read -r file value; do echo "$value" >"$file"; done </tmp/untouched
}

# row_of NAME REGIME SECONDS TOTAL OPTIONS...: one run, with its count added to /tmp/table under NAME.
row_of() {
    row=$1
    shift
    check "$row, phases of $2 s" compared "$@"
    cat /tmp/said
    check "its count is the program's own within 5 points" agrees_or_again "$@"
    echo "$row $2 $own $printed $own_accesses" >>/tmp/table
}

# owners_table RUNS PHASES SECONDS...: the regimes in phases of so many seconds, each RUNS times and over PHASES of them, and those that
# move nothing. Homenode must beat the kernel, also where that is tuned by hand.
owners_table() {
    runs=$1 phases=$2
    shift 2
    settings >/tmp/untouched
    for run in $(seq "$runs"); do
        row_of first-touch first-touch 5 30
        row_of interleave interleave 5 15
        for phase in "$@"; do
            total=$((phases * phase))
            balancing 1
            row_of homenode homenode $phase $total
            row_of autonuma autonuma $phase $total
            scan_by_hand
            row_of autonuma-by-hand autonuma $phase $total
            as_it_was
        done
    done
    balancing 0
    row_of homenode-alone homenode $1 $((phases * $1))
    row_of homenode-tune-kernel homenode $1 $((phases * $1)) --tune-kernel
    check "what was switched on is off again" grep -q 0 /proc/sys/kernel/numa_balancing
    as_it_was
    awk '{ k = $1 " " $2; own[k] += $3; printed[k] += $4; accesses[k] += $5; n[k]++; all[k] = all[k] " " $3 "/" $4 "/" $5 }
        END { for (k in n) printf "table: %s s, %d runs, own %.1f %%, printed %.1f %%, own by accesses %.1f %%:%s\n",
            k, n[k], own[k] / n[k], printed[k] / n[k], accesses[k] / n[k], all[k] }' /tmp/table | sort
    check "Homenode beats the kernel, also where its scans are set by hand" awk '
        { own[$1 " " $2] += $3; if ($1 == "homenode") phases[$2] }
        END { for (p in phases) if (own["homenode " p] <= own["autonuma " p] || own["homenode " p] <= own["autonuma-by-hand " p]) exit 1 }' \
        /tmp/table
}
