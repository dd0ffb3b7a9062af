#!/bin/sh
# A kernel that stops is recognised as such, not waited for.
# guest: --nodes 1 --timeout 60
# expect: broken sysrq triggered crash
. ./check.sh
check "something" true
echo c >/proc/sysrq-trigger
finish
