#!/bin/sh
# The live loop follows a program that changes its habits, and does nothing while there is nothing to do.
# guest: --nodes 2 --timeout 280
# programs: where owners bound homenode hold
# files: lib/acceptance.sh
. ./check.sh
. ./acceptance.sh
only_asked_for_huge_pages
cd /tmp
balancing 1
# Whose moves are they? The kernel looks who uses the program's memory and moves nothing of it (but to node 0). Homenode's own
# memory is bound too, so that pages counted as moved are the program's.

# cpu_ticks PID: hundredths of a second of processor time that a process has used.
cpu_ticks() {
    sed 's/.*) //' /proc/$1/stat | awk '{ print $12 + $13 }'
}

seconds_up() {
    cut -d. -f1 /proc/uptime
}

# Without the huge parts: copying one takes an emulated processor most of a second, more than is saved for moving.
start /tmp/owners.out bound 0 owners -n -f /tmp/regions
pid=$started
need wait_for 30 says "phase 0" /tmp/owners.out
refute "at first many pages are away from home" where -l 75 regions $pid /tmp/regions
# Emulated code is some twenty times slower, so finding users takes five hundredths of a processor instead of one. While
# nothing is to be done the limit is the usual one whatever is allowed.
start /tmp/live.out bound 0 homenode migrate --pid $pid --journal /tmp/journal --record /tmp/live.hnt --decide 50
live=$started

# home_again PHASE
home_again() {
    began=$(seconds_up)
    check "phase $1: every page comes home" where -w 100 -l 99 regions $pid /tmp/regions
    echo "phase $1: home after $(($(seconds_up) - began)) s"
}

home_again 0
kill -USR1 $pid
need wait_for 30 says "phase 1" /tmp/owners.out
home_again 1
# An emulated kernel takes some seconds to ask about each page once; until then the loop does not know that all are home.
sleep 20
moved=$(moved_pages) ticks=$(cpu_ticks $live)
sleep 10
moved=$(($(moved_pages) - moved)) ticks=$(($(cpu_ticks $live) - ticks))
echo "at rest: in 10 s $moved pages moved, $ticks ticks of processor time used"
check "then no page moves any more" [ $moved -le 8 ]
# Emulated, with the journal and the dataset being written, and on a host that may be busy: 13 to 18 ticks are usual.
check "nor is much time used (of 50 % allowed, at most 5 %)" [ $ticks -le 50 ]
check "all are still home" where -l 99 regions $pid /tmp/regions
# Not SIGINT: a shell without job control has its children in the background ignore that.
kill -TERM $live
check "the loop ends when asked to" wait $live
cat /tmp/live.out
check "the recorded run is decided again in the same way" homenode migrate --replay /tmp/journal
check "the program lost no addition" stop $pid
check "its evidence is a sound dataset" homenode check /tmp/live.hnt
check "of which a plan can be made" homenode place /tmp/live.hnt -o /tmp/plan.json
cat /tmp/said
finish
