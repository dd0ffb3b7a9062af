#!/bin/sh
# A scenario that never ends is ended by the harness.
# guest: --nodes 1 --timeout 10
# expect: time-out
. ./check.sh
check "something" true
sleep 1000
finish
