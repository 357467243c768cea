#!/usr/bin/env bats
# Where the host's namespaces are shared, what Landlock does not cover is refused by the filter.  Each act succeeds outside.
bats_require_minimum_version 1.5.0

SHARED=(--without mountns --without pidns --without userns)

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	echo secret >victim
	chmod 600 victim
	victim=$PWD/victim
}

# The act as Python text; it prints the errno's name, or "done".
act() {
	cat <<-END
		import ctypes, errno, os, resource
		libc = ctypes.CDLL(None, use_errno=True)
		def call(f, *a):
		    if f(*a) < 0: raise OSError(ctypes.get_errno(), "")
		try:
		    $1
		    print("done")
		except OSError as e:
		    print(errno.errorcode[e.errno])
	END
}

refused_inside_only() { # TEXT
	run /usr/bin/python3 -c "$(act "$1")"
	[ "$output" = done ]
	run --separate-stderr "$BULKHEAD" run --quiet "${SHARED[@]}" -- /usr/bin/python3 -c "$(act "$1")"
	[ "$status" = 0 ]
	[ "$output" = EPERM ]
}

@test "modes of files that were not granted" {
	refused_inside_only "os.chmod('$victim', 0o600)"
}

@test "times of files that were not granted" {
	refused_inside_only "os.utime('$victim', (1, 1))"
}

@test "System V shared memory" {
	# IPC_PRIVATE, removed at once
	refused_inside_only "i = libc.shmget(0, 4096, 0o600 | 0o1000); call(lambda: i); libc.shmctl(i, 0, None)"
}

@test "watches on directories that were not granted" {
	refused_inside_only "call(libc.inotify_add_watch, libc.inotify_init(), b'$PWD', 0xfff)"
}

@test "limits of a process outside" {
	sleep 60 3>&- &
	local pid=$!
	refused_inside_only "resource.prlimit($pid, resource.RLIMIT_CORE, (0, 0))"
	kill "$pid"
}
