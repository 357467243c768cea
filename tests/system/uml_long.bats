#!/usr/bin/env bats
# Control groups of version 1 alone, and the control groups' own suite on both, on another kernel: see uml.bats.

source "$BULKHEAD_TREE/tests/system/lib/uml.bash"

@test "version 1 alone: the limits bite, and a killed launcher leaves nothing" {
	guest v1 "find /sys/fs/cgroup -maxdepth 1 -mindepth 1 | sort; $LIMITS"
	[[ $output != *unified* ]]
	limits_hold
}

@test "version 1 alone, no Landlock: the tree is held by the pid namespace" {
	guest v1 'bulkhead run --quiet --report - -- true'
	held tree "pid namespace"
	held resources "cgroup limits"
	held signals "pid namespace"
}

@test "the suite of control groups passes on version 2 and on version 1" {
	local suite=$BULKHEAD_TREE/build/tests/kernel/test_cgroup layout
	for layout in v2 v1; do
		guest "$layout" "CMOCKA_MESSAGE_OUTPUT=TAP $suite; echo status \$?"
		says "status 0"
		[ -z "$(grep "^not ok" <<<"$output" | grep -v SKIP)" ]
		[ "$(grep -c "^ok" <<<"$output")" -ge 22 ]
	done
}
