#!/bin/sh
# What docs/design/faults.md says of evidence after an action: which policies end hinting faults, which keep them, and when
# the kernel moves pages by itself.
# guest: --nodes 2 --numa-balancing --timeout 180
# tier: slow
# programs: hinting
. ./check.sh
knobs=/sys/kernel/debug/sched/numa_balancing
[ -d $knobs ] || need mount -t debugfs none /sys/kernel/debug
echo 100 >$knobs/scan_period_min_ms
echo 200 >$knobs/scan_period_max_ms
echo 100 >$knobs/scan_delay_ms

# outcome ACTION HOME USER: one line; faults a second in $faults.
outcome() {
    need hinting "$@" 3 >/tmp/outcome
    cat /tmp/outcome
    faults=$(sed 's/.*faults.s \([0-9]*\).*/\1/' /tmp/outcome)
}
ends() { grep -q " after $1\$" /tmp/outcome; }
many() { [ "$faults" -ge 100 ]; }
none() { [ "$faults" -le 10 ]; }

outcome none 0 1
check "without a policy pages fault" many
check "and the kernel moves them to their user" ends n1=2000
outcome move 1 1
check "after a right move pages fault" many
check "and stay" ends n1=2000
outcome move 0 1
check "after a wrong move the kernel moves them again" ends n1=2000
for action in bind preferred many; do
    outcome $action 1 1
    check "$action ends hinting faults" none
done
for action in bindmof manymof; do
    outcome $action 1 1
    check "$action keeps hinting faults" many
    outcome $action 0 1
    check "$action keeps them on the wrong node too" many
    check "$action holds the pages there" ends n0=2000
done
check_status 3 "PREFERRED takes no MPOL_F_NUMA_BALANCING" hinting prefmof 1 1 1
echo 0 >/proc/sys/kernel/numa_balancing
outcome none 0 1
check "without balancing there are no hinting faults" none
finish
