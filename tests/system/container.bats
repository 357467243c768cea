#!/usr/bin/env bats
# Inside a container as platforms hand them out: no capability, no_new_privs, and a seccomp profile that refuses namespaces
# and mounts.  What carries the boundary there is Landlock, seccomp and rlimits; what they cannot carry is refused by name.
bats_require_minimum_version 1.5.0

LIB=$BULKHEAD_TREE/tests/system/lib
RUNNER=64001 # nobody's uid

setup_file() {
	[ "$EUID" -eq 0 ] || return 0
	cc -O1 -static -o "$BATS_FILE_TMPDIR/attack" "$LIB/no_namespace_attack.c"
}

setup() {
	[ "$EUID" -eq 0 ] || skip "a container is made by root here; inside it the tests are an ordinary user's"
	# a kernel that lets no container in the container be unprivileged has nothing to test
	shared=$BATS_TEST_TMPDIR/shared
	mkdir "$shared"
	cp "$BULKHEAD" "$shared/bulkhead"
	cp "$BATS_FILE_TMPDIR/attack" "$LIB/no_namespace_acts" "$shared/"
	chown -R "$RUNNER:$RUNNER" "$shared"
}

contained() {
	timeout -k 5 240 "$LIB/container.py" "$RUNNER" "$shared" "$@"
}

report_is() {
	/usr/bin/python3 "$LIB/report.py" "$shared/report" "$@"
}

@test "the container grants no namespace" {
	run contained unshare -Ur true
	[ "$status" -ne 0 ]
	[[ $output == *"Operation not permitted"* ]]
}

@test "a command runs, and the evidence says what held it" {
	run -0 contained /t/bulkhead run --quiet --report /t/report -- sh -c 'echo ran as $(id -u)'
	[ "$output" = "ran as $RUNNER" ]
	report_is 'outcome == "exited"' 'exit_code == 0' \
		'guarantee["files"].mechanism == "Landlock"' \
		'guarantee["network"].mechanism == "seccomp on socket families"' \
		'guarantee["signals"].mechanism == "Landlock signal scope"' \
		'guarantee["memory"].mechanism.startswith("Landlock")' \
		'guarantee["tree"].state == "held"' \
		'guarantee["resources"].state == "partial"' \
		'all(g.state == "held" for g in guarantees if g.required and g.id != "resources")'
}

@test "what cannot be held is refused by name, unless waived" {
	run contained /t/bulkhead run --strict -- echo executed
	[ "$status" -eq 125 ]
	[[ $output == *"guarantee resources cannot be held"* ]]
	[[ $output != *executed* ]]
	run contained /t/bulkhead run --without landlock -- echo executed
	[ "$status" -eq 125 ]
	[[ $output == *"cannot be held"* ]]
	run -0 contained /t/bulkhead run --strict --quiet --waive resources -- echo executed
	[ "$output" = executed ]
}

@test "doctor names the container's profile, and agrees" {
	run contained /t/bulkhead doctor
	echo "$output"
	[[ $output == *"sandbox"* ]]
	[[ $output == *"container"* ]]
	[[ $output == *"seccomp"* ]]
}

@test "whatever it leaves behind in the container is killed, and its workspace removed" {
	run contained sh -c 'sh -c "setsid sleep 9731 & exit 0"; sleep 0.3; cat /proc/[0-9]*/comm | grep -c "^sleep"'
	[ "$output" = 1 ] # without us it stays
	run -0 contained sh -c '/t/bulkhead run --quiet -- sh -c "setsid sleep 9731 & trap \"\" TERM; setsid sh -c \"sleep 9732\" & exit 0"
		cat /proc/[0-9]*/comm | grep -c "^sleep"
		find /var/tmp/bulkhead-* -mindepth 1 | wc -l'
	echo "$output"
	[ "${lines[0]}" = 0 ]
	[ "${lines[1]}" = 0 ]
}

# Each act reaches for something that is not the workload's: it succeeds in the container, and fails inside the boundary.
# stat(2) is no right of Landlock's, and /dev/null is granted.
@test "acts against another process of the same user" {
	contained /t/no_namespace_acts /t >"$BATS_TEST_TMPDIR/acts" 2>"$BATS_TEST_TMPDIR/err" || {
		cat "$BATS_TEST_TMPDIR/acts" "$BATS_TEST_TMPDIR/err"
		return 1
	}
	cat "$BATS_TEST_TMPDIR/acts"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/acts")" -gt 40 ]
	# act, without us, with us
	run awk '$2 == "done" && $3 == "done" && $1 != "stat" && $1 != "open-rw" { print }' "$BATS_TEST_TMPDIR/acts"
	[ -z "$output" ]
	grep -qx 'open-rw done EACCES' "$BATS_TEST_TMPDIR/acts" # /dev/ptmx; the other is /dev/null
	run awk '$2 != "done" { print }' "$BATS_TEST_TMPDIR/acts"
	echo "without us refused already: $output"
	[ "$(grep -c ' done ' "$BATS_TEST_TMPDIR/acts")" -ge 35 ]
}
