#!/usr/bin/env bats
# Every call of the set-up is made to fail.  A workload may then run only behind guarantees that are reported as held;
# otherwise the exit status is 125, with one line that says why, and nothing is left behind (tests/shim/sweep).

setup_file() {
	cc -O1 -o "$BATS_FILE_TMPDIR/fail_call" "$BULKHEAD_TREE/tests/shim/fail_call.c" -lseccomp
	chmod 755 "$BATS_FILE_TMPDIR"
}

setup() {
	fail_call=$BATS_FILE_TMPDIR/fail_call
	"$fail_call" getpid EPERM nth=0 -- true || skip "this host lets no filter ask another process (seccomp_unotify)"
}

sweep() {
	run "$BULKHEAD_TREE/tests/shim/sweep" "$fail_call" "$BULKHEAD" "$BATS_TEST_TMPDIR" "$@"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "namespaces and processes" {
	sweep clone3 clone unshare sethostname fork vfork
}

@test "the mount API" {
	sweep fsopen fsconfig fsmount open_tree move_mount mount_setattr pivot_root umount2
}

@test "the private root's files" {
	sweep mkdirat symlinkat fchmodat fchdir chdir/once mkdir openat2 openat/once read/once getdents64 newfstatat/once \
		readlinkat mknodat unlinkat/once access/once
}

@test "ids and privileges" {
	# 38 no_new_privs, 24 a capability of the bounding set, 47 the ambient set, 8 keep capabilities, 36 subreaper,
	# 1 death signal, 4 dumpable
	sweep setresuid setresgid setgroups capset capget prctl:arg0=38 prctl:arg0=24 prctl:arg0=47 prctl:arg0=8 \
		prctl:arg0=36 prctl:arg0=1 prctl:arg0=4
}

@test "Landlock, the filter, limits and the session" {
	sweep landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp prlimit64/once setsid setpgid
}

@test "descriptors" {
	sweep close_range close/once dup2 fcntl/once socketpair pipe2 setsockopt ioctl/once
}

@test "what the processes say to each other" {
	sweep sendmsg recvmsg/once poll/once signalfd4 pidfd_open write/once getppid/once rt_sigprocmask/once
}

# wait4(2) is not among them: for a child that is there it cannot fail but by a signal.
@test "the rest" {
	sweep getrandom/once getcwd fstatfs kill/once waitid/once getrusage/once mmap/once brk/once mprotect/once
}

# Without namespaces other steps carry the guarantees.
@test "the same where there are no namespaces" {
	SWEEP_OPTIONS="--without mountns" sweep clone3 landlock_create_ruleset landlock_add_rule landlock_restrict_self \
		seccomp setresuid prctl:arg0=38 prctl:arg0=36 prctl:arg0=24 capset close_range setsid openat2 mkdirat \
		fchownat unlinkat/once getdents64 signalfd4 write/once socketpair
}

# What was applied is believed only once it was seen from outside.
@test "a kernel that answers success and does nothing" {
	sweep umount2/lie pivot_root/lie mount_setattr/lie move_mount/lie unshare/lie setns/lie seccomp/lie sethostname/lie \
		landlock_restrict_self/lie landlock_add_rule/lie capset/lie prctl:arg0=38/lie prctl:arg0=24/lie \
		prctl:arg0=4/lie setsid/lie setpgid/lie close_range/lie setresuid/lie setresgid/lie setgroups/lie
}

@test "a kernel without namespaces that answers success and does nothing" {
	SWEEP_OPTIONS="--without mountns" sweep seccomp/lie landlock_restrict_self/lie landlock_add_rule/lie capset/lie \
		prctl:arg0=38/lie prctl:arg0=36/lie setsid/lie close_range/lie setresuid/lie setresgid/lie setgroups/lie
}

# Pain 2: a user namespace that can be made and has no power in it.
names_step() {
	local call=$1 report=$BATS_TEST_TMPDIR/report
	rm -f "$report"
	run "$fail_call" "$call" EPERM -- "$BULKHEAD" run --quiet --report "$report" -- sh -c 'echo ran'
	echo "$call: $output"
	grep -A 3 '"mountns"' "$report" | grep "$2" || return 1
	if [ "$output" != ran ]; then # refused: then the line says the step, too
		[ "$status" -eq 125 ]
		[[ $output == *"$2"* ]]
	fi
}

@test "a refused mount step is named in the evidence" {
	names_step fsopen "fsopen tmpfs: Operation not permitted"
	names_step fsmount "fsmount the scratch tmpfs: Operation not permitted"
	names_step open_tree "open_tree /usr: Operation not permitted"
	names_step move_mount "attach the private root: Operation not permitted"
	names_step mount_setattr "mount_setattr on /\|make the mounts private: Operation not permitted"
	names_step pivot_root "pivot_root: Operation not permitted"
	names_step umount2 "detach the host's tree: Operation not permitted"
}

@test "a refused mount step stops a run that has nothing else to hold its files" {
	run "$fail_call" open_tree EPERM -- "$BULKHEAD" run --quiet --without landlock -- sh -c 'echo ran'
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"open_tree /usr: Operation not permitted"* ]]
	[ "${#lines[@]}" -eq 1 ]
}

@test "a refused id map is named" {
	[ "$EUID" -ne 0 ] || skip "root goes on without a user namespace"
	# what Ubuntu's AppArmor does: the namespace is granted, and then has no capability
	run "$fail_call" setresgid EPERM -- "$BULKHEAD" run --quiet --without landlock -- sh -c 'echo ran'
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"become gid"* ]]
}
