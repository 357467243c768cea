# shellcheck disable=SC2154 # output and status are set by run
#
# For the tests on other kernels: Debian's user-mode Linux, 6.1, without Landlock.  A guest starts in about four seconds, and
# what it does takes ten times as long as here.
bats_require_minimum_version 1.5.0

UML=$BULKHEAD_TREE/tests/system/lib/uml

setup() {
	[ "$EUID" -eq 0 ] || skip "the guest's root is what is tested, once"
	cp "$BULKHEAD" "$BATS_TEST_TMPDIR/bulkhead"
	cd "$BATS_TEST_TMPDIR" || return 1
}

# The text as a script of the guest's root; bulkhead is on its PATH.
guest() { # LAYOUT TEXT
	run "$UML" "$1" env "PATH=$BATS_TEST_TMPDIR:/usr/sbin:/usr/bin:/sbin:/bin" bash -c "$2"
	echo "$output"
	[ "$status" -ne 77 ] || skip "no user-mode Linux here: $output"
}

says() {
	grep -qxF -- "$1" <<<"$output"
}

# What the limits do, said alike in both layouts.
# shellcheck disable=SC2034 # used by who sources this
LIMITS='
bulkhead run --quiet --memory 64M -- /usr/bin/python3 -c "x = bytearray(16 << 20)"; echo "memory, enough: $?"
bulkhead run --memory 32M -- /usr/bin/python3 -c "x = bytearray(200 << 20)"; echo "memory, too little: $?"
bulkhead run --quiet --memory none -- /usr/bin/python3 -c "x = bytearray(200 << 20)"; echo "memory, no limit: $?"
FORKS="
import os, time
n = 1
while n < 12:
    try:
        if os.fork() == 0: time.sleep(5); os._exit(0)
        n += 1
    except OSError: break
print(\"processes:\", n)"
bulkhead run --pids 8 -- /usr/bin/python3 -c "$FORKS"
bulkhead run --quiet --pids none -- /usr/bin/python3 -c "$FORKS"
bulkhead run --quiet --cpus 0.5 --report /run/report -- /usr/bin/python3 -c "
import time
start, used = time.monotonic(), time.process_time
while time.monotonic() - start < 2: pass
print(\"processor limited:\", used() < 1.4)"
bulkhead run --quiet -- /usr/bin/python3 -c "
import time
start, used = time.monotonic(), time.process_time
while time.monotonic() - start < 1: pass
print(\"processor not limited:\", used() > 0.6)"
sh -c "bulkhead run --quiet -- sleep 9741 & echo \$! >/run/pid; wait" & sleep 1.5
kill -KILL "$(cat /run/pid)"; sleep 1.5
echo "left running: $(cat /proc/[0-9]*/comm | grep -c ^sleep)"
echo "groups left: $(find /sys/fs/cgroup -name "bulkhead-*" | wc -l)"
'

limits_hold() {
	says "memory, enough: 0"
	says "memory, too little: 137"
	says "bulkhead run: killed by the memory limit of 33554432 bytes"
	says "memory, no limit: 0"
	says "processes: 8"
	says "processes: 12"
	says "bulkhead run: pids limit met"
	says "processor limited: True"
	says "processor not limited: True"
	says "left running: 0"
	says "groups left: 0"
}

held() { # GUARANTEE MECHANISM
	grep -q "^$1  *held  *$2" <<<"$output"
}
