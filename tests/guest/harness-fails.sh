#!/bin/sh
# Checks that must fail: each shows that the programs and the harness notice what they are there for.
# guest: --nodes 2 --timeout 60
# programs: where mover pattern owners
# expect: fails corruption, pages elsewhere, half moved, unseen memory, wrong process, a false statement
. ./check.sh

check "corruption" pattern -c -p 2 3 8
start /tmp/owners.out owners -f /tmp/regions
pid=$started
need wait_for 60 says "phase 0" /tmp/owners.out
check "pages elsewhere" where regions $pid /tmp/regions
grep -v "region bss" /tmp/regions >/tmp/without-bss
check "some are moved" mover home $pid /tmp/without-bss
check "those are home" where regions $pid /tmp/without-bss
check "half moved" where regions $pid /tmp/regions
echo "region none 10000 40960 $pid" >/tmp/nothing
check "unseen memory" where regions $pid /tmp/nothing
check "wrong process" where count 999999 0x10000 4096
refute "a false statement" true
finish
