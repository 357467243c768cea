#!/usr/bin/env bats
# Another kernel than this machine's: Linux 6.1, control groups of version 2 alone with all controllers, no Landlock.  More of
# the same, and version 1 alone, is in uml_long.bats.

source "$BULKHEAD_TREE/tests/system/lib/uml.bash"

@test "version 2 alone: the limits bite, and a killed launcher leaves nothing" {
	guest v2 "cat /sys/fs/cgroup/cgroup.controllers; $LIMITS"
	[[ ${lines[0]} == *memory*pids* ]]
	limits_hold
}

@test "version 2 alone, no Landlock: every guarantee is held, and by what" {
	guest v2 'bulkhead run --quiet --report - -- true; bulkhead run --quiet --without pidns -- echo executed; echo "status $?"'
	for g in memory environ files control-plane signals network syscalls privilege environment descriptors terminal devices \
		residue; do
		held "$g" ""
	done
	held tree cgroup.kill
	held resources "cgroup limits"
	# neither namespaces nor Landlock: nothing is left to hold the files
	says "status 125"
	[[ $output != *executed* ]]
}
