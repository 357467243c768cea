#!/usr/bin/env bats
# Ways round the boundary that were found by attack, each closed and kept closed.
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	chmod 755 .
}

inside() { # [OPTION...] -- COMMAND...
	run timeout -k 5 60 "$BULKHEAD" run --quiet "$@"
	echo "status $status: $output"
}

@test "a full host leads to no weaker plan: what cannot be passed is a failure" {
	cc -O1 -o fail_call "$BULKHEAD_TREE/tests/shim/fail_call.c" -lseccomp
	./fail_call getpid EPERM nth=0 -- true || skip "this host lets no filter ask another process (seccomp_unotify)"
	for call in sendmsg mount_setattr unshare; do
		for error in ETOOMANYREFS ENOSPC ENOMEM EDQUOT; do
			run ./fail_call "$call" "$error" nth=1 -- "$BULKHEAD" run --quiet -- echo executed
			echo "$call $error: $status $output"
			[ "$status" -eq 125 ]
			[[ $output != *executed* ]]
		done
	done
	run ./fail_call mount_setattr EPERM nth=1 -- "$BULKHEAD" run --quiet -- echo executed
	[ "$output" = executed ] # what a host does not allow is planned around
}

@test "a root file system that is exchanged while it is mounted shows nothing else" {
	mkdir -p image/data image/bin secret
	cp -a /usr image/usr 2>/dev/null & # anything large would do; it is not waited for
	kill $! && wait $! || true
	rm -rf image/usr
	ln -s /usr image/usr
	echo PRIVATE >secret/key
	ln -s "$PWD/secret" image/.other
	cat >exchange.py <<-'END'
		import ctypes, sys, time
		libc, end = ctypes.CDLL(None), time.monotonic() + 8
		while time.monotonic() < end:
		    for _ in range(1000): libc.renameat2(-100, b"image/data", -100, b"image/.other", 2)
	END
	/usr/bin/python3 exchange.py &
	exchanger=$!
	seen=
	for _ in $(seq 400); do # by path it is to be seen
		[ "$(cat image/data/key 2>/dev/null)" != PRIVATE ] || { seen=yes; break; }
	done
	cc -O1 -static -o image/show "$BULKHEAD_TREE/tests/system/attacks/attack.c" 2>/dev/null || true
	leaks=0
	for _ in $(seq 60); do
		out=$("$BULKHEAD" run --quiet --rootfs "$PWD/image" --ro /usr -- /usr/bin/cat /data/key 2>&1) || true
		[[ $out != *PRIVATE* ]] || leaks=$((leaks + 1))
	done
	kill "$exchanger" 2>/dev/null || true
	wait "$exchanger" || true
	[ "$seen" = yes ]
	[ "$leaks" -eq 0 ]
}

# Without one of its namespaces a sandbox shares the host's names of that kind.
@test "no network namespace: the host's abstract sockets stay out of reach" {
	name=bulkhead-test-$$
	/usr/bin/python3 -c "
import socket, time
s = socket.socket(socket.AF_UNIX); s.bind('\0$name'); s.listen(8); open('ready', 'w').close(); time.sleep(20)" &
	server=$!
	until [ -e ready ]; do sleep 0.02; done
	act="import socket; s = socket.socket(socket.AF_UNIX); s.connect('\0$name'); print('connected')"
	run -0 /usr/bin/python3 -c "$act"
	[ "$output" = connected ]
	for options in "" "--without landlock-scope" "--without landlock" "--without landlock --without landlock-scope"; do
		# shellcheck disable=SC2086 # several words
		inside --without netns $options -- /usr/bin/python3 -c "$act"
		[[ $status != 0 && $output != *connected* ]]
	done
	kill "$server"
	wait "$server" || true
}

@test "no ipc namespace: the host's System V segments stay out of reach" {
	act="import ctypes; l = ctypes.CDLL(None); i = l.shmget(0x62756c6b, 64, 0); print('found' if i >= 0 else 'nothing')"
	id=$(/usr/bin/python3 -c "import ctypes; print(ctypes.CDLL(None).shmget(0x62756c6b, 64, 0o1666))")
	run -0 /usr/bin/python3 -c "$act"
	[ "$output" = found ]
	for options in "" "--without landlock"; do
		# shellcheck disable=SC2086
		inside --without ipcns $options -- /usr/bin/python3 -c "$act"
		[[ $output != *found* ]]
	done
	ipcrm -m "$id"
}

@test "what is counted per user is counted against the workload" {
	hold="import ctypes, time
l, n = ctypes.CDLL(None), 0
while n < 4096 and l.inotify_init() >= 0: n += 1
print(n, flush=True)
time.sleep(3)"
	"$BULKHEAD" run --quiet -- /usr/bin/python3 -c "$hold" >held &
	until [ -s held ]; do sleep 0.05; done
	[ "$(cat held)" -le 64 ]
	run -0 /usr/bin/python3 -c "import ctypes; l = ctypes.CDLL(None); print(sum(l.inotify_init() >= 0 for i in range(60)))"
	[ "$output" -ge 50 ] # of 128 by default, and the test's own user may have some
	wait
}

@test "a launcher killed while it maps ids leaves no process" {
	grants=()
	for n in $(seq 25); do
		mkdir -m 777 "g$n"
		grants+=(--rw "$PWD/g$n")
	done
	for n in $(seq 30); do
		"$BULKHEAD" run --quiet "${grants[@]}" -- sleep 97.5 &
		pid=$!
		sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	for _ in $(seq 100); do
		left=$(pgrep -f "$PWD/g1 " || true; pgrep -x bulkhead-init -P 1 || true)
		[ -n "$left" ] || break
		sleep 0.05
	done
	[ -z "$left" ]
}

@test "process tier: who has left the group is killed all the same" {
	[ "$EUID" -eq 0 ] || skip "an ordinary user has no rights over the host's groups"
	top=/sys/fs/cgroup/unified
	[ -e $top/cgroup.procs ] || top=/sys/fs/cgroup
	[ -e $top/cgroup.procs ] || skip "no version 2 hierarchy at its usual place"
	run timeout 30 "$BULKHEAD" run --quiet --tier process --timeout 500ms --grace 0s --report report -- \
		sh -c "echo \$\$ >$top/cgroup.procs && touch $PWD/left; sleep 97.25 & exec sleep 97.25"
	[ "$status" -eq 124 ]
	[ -e left ]
	run pgrep -f "sleep 97.25"
	[ "$status" -ne 0 ]
}

@test "no Landlock: a file passed for reading cannot be opened for writing, nor one for writing read" {
	echo untouched >file
	chmod 666 file
	run -0 sh -c 'echo changed >/proc/self/fd/0' <file
	[ "$(cat file)" = changed ]
	echo untouched >file
	run "$BULKHEAD" run --quiet --without landlock -- sh -c 'cat; echo changed >/proc/self/fd/0' <file
	[[ $output == untouched* ]]
	[ "$(cat file)" = untouched ]
	echo earlier >out
	chmod 666 out
	# what it may find there is its own output, in a pipe
	run -0 sh -c 'cat /proc/self/fd/3' 3>>out # a file could be read
	[ "$output" = earlier ]
	"$BULKHEAD" run --quiet --without landlock -- sh -c 'timeout 1 cat /proc/self/fd/1 >&2; echo written' >>out 2>err </dev/null
	[ "$(cat out)" = $'earlier\nwritten' ]
	run ! grep earlier err
}

@test "init's limits are not the workload's to set" {
	act='import resource, sys
try: resource.prlimit(int(sys.argv[1]), resource.RLIMIT_CPU, (1, 1)); print("set")
except OSError as e: print(e.strerror)'
	sleep 30 &
	run -0 /usr/bin/python3 -c "$act" $!
	[ "$output" = set ]
	kill $!
	inside -- /usr/bin/python3 -c "$act" 1
	[[ $output == *"Operation not permitted"* ]]
	inside -- /usr/bin/python3 -c "$act" 0
	[[ $output == *set* ]]
}

@test "the launcher's own line carries no control character of the workload's" {
	printf 'int main(void) { return 0; }\n' >evil.c
	cc -o evil evil.c -Wl,--dynamic-linker="$(printf '/x\033]0;PWNED\007\nbulkhead run: forged')"
	inside --ro "$PWD/evil" -- "$PWD/evil"
	[ "$status" -eq 127 ]
	[ "${#lines[@]}" -eq 1 ]
	[[ $output == *interpreter* && $output != *$'\033'* && $output != *$'\007'* ]]
}

@test "handles on kernel objects are no standard descriptors" {
	for file in /proc/self/status /proc/self/ns/net; do
		run "$BULKHEAD" run --quiet -- true <$file
		echo "$file: $status $output"
		[ "$status" -eq 125 ]
		[[ $output == *"standard descriptor 0 is a handle"* ]]
	done
	run /usr/bin/python3 -c 'import os, select, subprocess, sys
for fd in os.pidfd_open(os.getpid()), select.epoll().fileno(), os.eventfd(0):
    print(subprocess.run([sys.argv[1], "run", "--quiet", "--", "true"], stdin=fd, stderr=subprocess.DEVNULL).returncode)' "$BULKHEAD"
	[ "$output" = $'125\n125\n125' ]
}

@test "an ordinary user who asks for no limit by group is not refused for want of one" {
	for tier in sandbox process; do
		inside --tier "$tier" --memory none --pids none -- echo executed
		[ "$output" = "status 0: executed" ] || [ "$output" = executed ]
	done
}

@test "process tier: the supervisor's sweep is let to its end, and goes on without it" {
	spin='import os, sys, time
for i in range(40):
    if os.fork() == 0:
        os.setsid(); end = time.monotonic() + 20
        while time.monotonic() < end: pass
        os._exit(0)
open("spinning", "w").close()
if sys.argv[2:]: # the supervisor has our uid: take its processor time, and give it something to use it up with
    import resource
    resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (0, 0))
    for i in range(2000):
        if os.fork() == 0:
            if os.fork() == 0: os._exit(0)
            os._exit(0)
        os.wait()
time.sleep(20)'
	for how in "" kill; do
		# shellcheck disable=SC2086 # a word or none
		run timeout -k 5 60 "$BULKHEAD" run --quiet --tier process --rw "$PWD" --without landlock-scope --without cgroup-kill \
			--timeout 2s --grace 0s -- /usr/bin/python3 -c "$spin" 97.125 $how
		echo "$how: $status $output"
		[ "$status" -ne 0 ]
		run pgrep -f "97\.125"
		[ "$status" -ne 0 ]
	done
}

@test "a file that Landlock cannot name, and one that cannot be read, are borne as standard input" {
	run /usr/bin/python3 -c 'import os, subprocess, sys
fd = os.memfd_create("in"); os.write(fd, b"from memory\n"); os.lseek(fd, 0, 0)
print(subprocess.run([sys.argv[1], "run", "--quiet", "--", "cat"], stdin=fd, capture_output=True).stdout)' "$BULKHEAD"
	[[ $output == *"from memory"* ]]
	touch file
	run /usr/bin/python3 -c 'import os, resource, subprocess, sys
fd = os.open("file", os.O_WRONLY)
subprocess.run([sys.argv[1], "run", "--quiet", "--without", "landlock", "--", "sleep", "1.5"], stdin=fd)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("spins" if used.ru_utime + used.ru_stime > 1 else "waits")' "$BULKHEAD"
	[ "$output" = waits ]
}

@test "no namespaces, Landlock before ABI 3: a file by name is not truncated" {
	cc -O1 -o old_landlock "$BULKHEAD_TREE/tests/shim/old_landlock.c"
	./old_landlock 2 true || skip "this host lets no filter ask another process (seccomp_unotify)"
	echo kept >file
	chmod 666 file
	act="import os
try: os.truncate('$PWD/file', 0); print('truncated')
except OSError as e: print(e.strerror)"
	run ./old_landlock 2 "$BULKHEAD" run --quiet --without mountns --waive signals -- /usr/bin/python3 -c "$act"
	echo "$output"
	[[ $output == *"Operation not permitted"* ]]
	[ "$(cat file)" = kept ]
	run -0 /usr/bin/python3 -c "$act"
	[ "$output" = truncated ]
}

@test "a /proc that hides others' processes, and a root of few capabilities, weaken no plan" {
	[ "$EUID" -eq 0 ] || skip "needs root to mount a /proc and to give up capabilities"
	run unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=64001 --regid=64001 --clear-groups \
		--inh-caps=-all "$0" run --quiet -- echo executed' "$BULKHEAD"
	echo "$output"
	[ "$output" = executed ]
	run -0 setpriv --bounding-set=-setpcap --inh-caps=-setpcap "$BULKHEAD" run --quiet -- cat /proc/self/uid_map
	read -r inside outside count <<<"$output"
	[ "$inside $count" = "1000 1" ]
	[ "$outside" -ge 1879048192 ] # of the reserved range, not root's
}
