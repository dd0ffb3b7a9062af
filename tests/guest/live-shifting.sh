#!/bin/sh
# What a run says was local is what the program itself counted, and nothing of the kernel's is set that was not allowed.
# guest: --nodes 2 --cpus-per-node 2 --timeout 240
# tier: slow
# programs: shifting homenode hold
# files: lib/shifting.sh
. ./check.sh
. ./shifting.sh
only_asked_for_huge_pages
nodes=2
cd /tmp
settings >/tmp/settings.before
check "first touch runs, with balancing off" compared first-touch 6 14
check "its count is the program's own within 5 points" agrees_or_again first-touch 6 14
check "the kernel moved nothing" [ "${by_kernel:-1}" -le 8 ]
# As most systems have it: threads stay with their memory, and Homenode brings memory to them.
balancing 1
settings >/tmp/settings.on
check "Homenode runs beside the kernel's balancing" compared homenode 10 24
check "its count is the program's own within 5 points" agrees_or_again homenode 10 24
check "and it has moved pages to who uses them" [ "${moved:-0}" -gt 500 ]
cat /tmp/said
settings >/tmp/settings.after
check "and sets nothing of it" cmp /tmp/settings.on /tmp/settings.after
balancing 0
check "AutoNUMA is not run without leave" homenode run --compare autonuma -- shifting -T 1
says "--tune-kernel" /tmp/said || need false
settings >/tmp/settings.after
check "no setting of the kernel has changed" cmp /tmp/settings.before /tmp/settings.after
# During a dry run, too.
start /tmp/dry.out homenode run --dry-run -- shifting -n 4 -s 2 -T 5
usleep 3000000
settings >/tmp/settings.during
check "a dry run sets nothing" cmp /tmp/settings.before /tmp/settings.during
check "and ends well" wait $started
tail -n 3 /tmp/dry.out
# However early it comes: between the setting and the start of the program, too.
for delay in 0 0 30000 100000 1000000; do
    start /tmp/tuned.out homenode run --compare autonuma --tune-kernel -- shifting -n 4 -s 2 -T 30
    need wait_for 20 grep -q 1 /proc/sys/kernel/numa_balancing
    usleep $delay
    kill -TERM $started
    wait $started
    settings >/tmp/settings.after
    check "told to end after $delay us, a run that was allowed to set puts back" cmp /tmp/settings.before /tmp/settings.after
done
start /tmp/tuned.out homenode run --compare autonuma --tune-kernel -- shifting -n 4 -s 2 -T 4
need wait_for 20 grep -q 1 /proc/sys/kernel/numa_balancing
kill -KILL $started
wait $started
check "after SIGKILL the doctor does" homenode doctor
settings >/tmp/settings.after
check "as it says" cmp /tmp/settings.before /tmp/settings.after
finish
