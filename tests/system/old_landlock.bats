#!/usr/bin/env bats
# Kernels with an older Landlock, and with none: what an ABI cannot do is said, and what rests on it is refused.
bats_require_minimum_version 1.5.0

SHARED="--without mountns --without pidns --without userns --without own-uid"

setup_file() {
	cc -O1 -o "$BATS_FILE_TMPDIR/old_landlock" "$BULKHEAD_TREE/tests/shim/old_landlock.c"
	chmod 755 "$BATS_FILE_TMPDIR"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	old=$BATS_FILE_TMPDIR/old_landlock
	"$old" 3 true || skip "this host lets no filter ask another process (seccomp_unotify)"
	now=$("$old" 7 /usr/bin/python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))')
	[ "$now" = 7 ] || skip "seccomp_unotify does not answer here: $now"
}

# $1: the ABI, $2: options; the report is in ./report
run_on() {
	local abi=$1
	shift
	run "$old" "$abi" "$BULKHEAD" run --quiet --report report "$@" -- echo executed
	echo "ABI $abi: status $status: $output"
}

found() {
	/usr/bin/python3 "$BULKHEAD_TREE/tests/system/lib/report.py" report "$@"
}

@test "with namespaces the run goes on, and the evidence says what the ABI lacks" {
	for abi in 1 2 3 4 5 6 7; do
		run_on "$abi"
		[ "$status" -eq 0 ]
		[ "$output" = executed ]
		found "mechanisms.landlock.state == 'enforced'" "'ABI $abi in effect' in mechanisms.landlock.how" \
			"('truncate not covered' in mechanisms.landlock.how) == ($abi < 3)" \
			"('device ioctl not covered' in mechanisms.landlock.how) == ($abi < 5)" \
			"('no scopes' in mechanisms.landlock.how) == ($abi < 6)" \
			"(mechanisms['landlock-scope'].state == 'enforced') == ($abi >= 6)"
	done
}

@test "no Landlock, with namespaces: held by them, and said" {
	run_on 0
	[ "$status" -eq 0 ]
	found "mechanisms.landlock.state == 'unsupported'" "mechanisms.landlock.how == 'this kernel has no Landlock'" \
		"mechanisms['landlock-scope'].how == 'this kernel has no Landlock'" \
		"all(g.state == 'held' or g.id == 'resources' for g in guarantees if g.required)"
}

@test "without namespaces an ABI without scopes holds no signals, and that is the reason given" {
	for abi in 1 2 3 4 5; do
		# shellcheck disable=SC2086 # several words
		run_on "$abi" $SHARED
		[ "$status" -eq 125 ]
		[[ $output == *"guarantee signals cannot be held"*"Landlock ABI $abi has no signal scope (6 has)"* ]]
		# shellcheck disable=SC2086
		run_on "$abi" $SHARED --waive signals
		[ "$status" -eq 0 ]
		[ "$output" = executed ]
		found "guarantee['signals'].state == 'waived'" "guarantee['files'].mechanism == 'Landlock'"
	done
	for abi in 6 7; do
		# shellcheck disable=SC2086
		run_on "$abi" $SHARED
		[ "$status" -eq 0 ]
		found "guarantee['signals'].mechanism == 'Landlock signal scope'"
	done
}

@test "without namespaces and without Landlock nothing is started, and Landlock is named" {
	# shellcheck disable=SC2086
	run_on 0 $SHARED
	[ "$status" -eq 125 ]
	[[ $output == *"this kernel has no Landlock"* ]]
	[[ $output != *executed* ]]
	# shellcheck disable=SC2086
	run_on 0 $SHARED --waive signals
	[ "$status" -eq 125 ]
	[[ $output == *"landlock unsupported: this kernel has no Landlock"* ]]
	[[ $output != *executed* ]]
}

@test "a container that answers clone3 as unknown: clone serves, without a group" {
	cc -O1 -o fail_call "$BULKHEAD_TREE/tests/shim/fail_call.c" -lseccomp
	run ./fail_call clone3 ENOSYS -- "$BULKHEAD" run --quiet --report report -- echo executed
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$output" = executed ]
	found "mechanisms['cgroup-kill'].state == 'unsupported'" "mechanisms.pidns.state == 'enforced'" \
		"guarantee['tree'].mechanism == 'pid namespace'"
}
