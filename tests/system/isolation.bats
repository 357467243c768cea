#!/usr/bin/env bats
# Each guarantee is attacked.  An attack that fails proves little by itself: its control arm does the same thing without
# the boundary, or with that one mechanism removed, and must succeed.

setup_file() {
	chmod 755 "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/file"
	cc -O1 -o "$BATS_FILE_TMPDIR/attack" "$BULKHEAD_TREE/tests/system/attacks/attack.c"
}

setup() {
	attack=$BATS_FILE_TMPDIR/attack
	cd "$BATS_TEST_TMPDIR" || return 1
	chmod 755 .
	helpers=()
}

teardown() {
	for pid in "${helpers[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}

sandbox() { # [OPTION...] -- COMMAND...
	run "$BULKHEAD" run --quiet --ro "$attack" "$@"
	echo "$output"
}

# The two ways in which files, memory and signals are held: by namespaces, and by Landlock alone.
on_both_plans() { # FUNCTION ARGUMENT...
	"$@"
	plan="--without mountns" "$@"
}

expect() { # ACT "ERRNO|ERRNO"
	local line
	line=$(grep -m 1 "^$1 " <<<"$output")
	[[ ${line#* } =~ ^($2)$ ]] || { echo "expected $1 $2, got: $line"; return 1; }
}

victim() { # a process of ours, with a secret in its environment; its pid in $victim
	SECRET=hidden sleep 60 3>&- &
	victim=$!
	helpers+=("$victim")
	until grep -qs '^sleep' "/proc/$victim/comm"; do sleep 0.01; done
}

attack_processes() {
	# shellcheck disable=SC2086
	sandbox $plan -- "$attack" "environ=$victim" "mem=$victim" "vm=$victim" "trace=$victim" "kill=$victim" \
		"environ=$$" "kill=$$"
	expect environ "ENOENT|EACCES"
	expect mem "ENOENT|EACCES"
	expect vm "ESRCH|EPERM"
	expect trace "ESRCH|EPERM"
	expect kill "ESRCH|EPERM"
	[[ $output != *" ok"* ]]
}

@test "memory, environ, signals: a process of the same user" {
	victim
	run "$attack" "environ=$victim" "vm=$victim" "trace=$victim" "kill=$victim"
	echo "$output"
	expect environ ok
	expect kill ok
	on_both_plans attack_processes
	kill -0 "$victim"
}

# Inside, pids are small: try all that the host could mean, and init.
attack_init() {
	# shellcheck disable=SC2086
	sandbox $plan -- sh -c 'exec "$0" environ=1 mem=1 vm=1 trace=1 "environ=$PPID" "mem=$PPID" "trace=$PPID" "open-write=/proc/$PPID/exe"' "$attack"
	[[ $output != *" ok"* ]]
	expect open-write "EACCES|ENOENT|ETXTBSY|EPERM"
}

@test "memory: init and the launcher's own binary" {
	on_both_plans attack_init
	plan="--without landlock" attack_init
}

@test "signals: kill -1 reaches nothing outside" {
	victim
	sandbox -- sh -c 'kill -9 -1'
	kill -0 "$victim"
	sandbox --without mountns -- sh -c 'kill -9 -1'
	kill -0 "$victim"
}

attack_files() {
	# shellcheck disable=SC2086
	sandbox $plan -- "$attack" open=/etc/shadow "open=$PWD/planted" "open-write=$PWD/planted" "open=$HOME/planted" \
		"open=/proc/1/root/etc/shadow" "open=/proc/$$/root/etc/hostname" "open=/proc/$$/cwd/planted"
	[[ $output != *" ok"* ]]
}

@test "files: the host's, and a planted one that anybody may read" {
	echo s3 >planted
	echo s3 >"$HOME/planted"
	chmod 644 planted
	run "$attack" "open=$PWD/planted"
	[ "$output" = "open ok" ]
	on_both_plans attack_files
	[ "$(cat planted)" = s3 ]
	sandbox --tier process -- "$attack" "open=$PWD/planted" # the tier that promises nothing about files
	expect open ok
	rm "$HOME/planted"
}

listener() { # KIND ADDRESS: connections are taken until the test ends
	python3 -c '
import socket, sys
kind, address = sys.argv[1:]
if kind == "tcp":
    s = socket.socket(); s.bind(("127.0.0.1", 0)); open(address, "w").write(str(s.getsockname()[1]))
else:
    s = socket.socket(socket.AF_UNIX); s.bind("\0" + address if kind == "abstract" else address)
s.listen()
open("listening-" + kind, "w")
while True:
    s.accept()
' "$@" 3>&- &
	helpers+=("$!")
	until [ -e "listening-$1" ]; do sleep 0.02; done
}

attack_sockets() {
	# shellcheck disable=SC2086
	sandbox $plan --rw "$PWD/granted" -- "$attack" "unix=$PWD/sock" "abstract=bulkhead-test-$$" "tcp=$(cat port)"
	[[ $output != *" ok"* ]]
	expect tcp "EAFNOSUPPORT|EPERM|EACCES"
}

@test "network and control-plane: host listeners cannot be reached" {
	mkdir granted
	listener path sock
	listener abstract "bulkhead-test-$$"
	listener tcp port
	run "$attack" "unix=$PWD/sock" "abstract=bulkhead-test-$$" "tcp=$(cat port)"
	[ "$output" = $'unix ok\nabstract ok\ntcp ok' ]
	on_both_plans attack_sockets
	sandbox --net host -- "$attack" "tcp=$(cat port)" # granted
	expect tcp ok
	sandbox --tier process -- "$attack" "unix=$PWD/sock" "abstract=bulkhead-test-$$"
	expect unix ok
	expect abstract ok
}

# The caller's sockets stay in the caller's network, whatever namespace the workload is in.
@test "network: which sockets may be standard input" {
	cat >passes.py <<-'END'
		import socket, subprocess, sys
		bulkhead, tcp = sys.argv[1], socket.create_server(("127.0.0.1", 0))
		pair = socket.socketpair()
		dgram = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
		connected = socket.create_connection(tcp.getsockname())
		udp, udp_connected = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
		udp_connected.connect(("127.0.0.1", 9))
		cases = {"pair": pair[0], "connected": connected, "dgram-pair": dgram[0], "udp": udp,
		         "udp-connected": udp_connected, "listening": tcp, "unconnected": socket.socket(),
		         "unconnected-unix": socket.socket(socket.AF_UNIX),
		         "netlink": socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)}
		for name, s in cases.items():
		    for options in [], ["--net", "host"], ["--tier", "process"]:
		        done = subprocess.run([bulkhead, "run", "--quiet", *options, "--", "true"], stdin=s, capture_output=True, text=True)
		        assert done.returncode in (0, 125), done
		        assert done.returncode == 0 or "standard descriptor 0 is a" in done.stderr, done
		        print(name, *options, "refused" if done.returncode else "passed")
	END
	run /usr/bin/python3 passes.py "$BULKHEAD"
	[ "$status" -eq 0 ]
	echo "$output"
	[ "$(grep -v process <<<"$output" | grep -c ' refused$')" -eq 11 ]
	[ "$(grep -c ' --tier process passed$' <<<"$output")" -eq 9 ]
	grep -qx "pair passed" <<<"$output"
	for name in connected dgram-pair udp udp-connected listening unconnected unconnected-unix netlink; do
		grep -qx "$name refused" <<<"$output"
	done
	for name in connected udp udp-connected listening unconnected; do grep -qx "$name --net host passed" <<<"$output"; done
}

@test "environ: the launcher's arguments are not to be read inside" {
	mkdir named-on-the-command-line
	sandbox --ro "$PWD/named-on-the-command-line" -- sh -c 'tr "\0" " " </proc/1/cmdline'
	[[ $output == bulkhead-init* && $output != *named-on* ]]
	# they are there for the host
	"$BULKHEAD" run --quiet --ro "$PWD/named-on-the-command-line" -- sleep 3 &
	sleep 0.5
	grep -q named-on-the-command-line "/proc/$!/cmdline"
	kill $!
	wait $! || true
}

# What listens below a granted directory is granted with it, which THREAT_MODEL.md says; without namespaces there is no
# socket that could connect.
@test "a socket under a granted directory" {
	mkdir granted
	listener path granted/sock
	sandbox --without mountns --rw "$PWD/granted" -- "$attack" "unix=$PWD/granted/sock"
	expect unix "EAFNOSUPPORT|EPERM|EACCES"
	sandbox --rw "$PWD/granted" -- "$attack" "unix=$PWD/granted/sock"
	expect unix ok
}

attack_devices() {
	# shellcheck disable=SC2086
	sandbox $plan -- "$attack" mknod mknod-mem open=/dev/mem open=/dev/kmsg open=/dev/vda open=/dev/loop-control open=/dev/fuse
	[[ $output != *" ok"* ]]
	# shellcheck disable=SC2086
	sandbox $plan -- sh -c 'echo x >/dev/null && head -c 1 /dev/zero | wc -c'
	[ "$output" -eq 1 ]
}

@test "devices: none can be made, and none but the harmless ones opened" {
	on_both_plans attack_devices
	if [ "$EUID" -eq 0 ]; then
		run "$attack" mknod-mem
		[[ $output == "mknod-mem ok" ]] || skip "the control arm needs CAP_MKNOD"
		rm -f node
	fi
}

forbidden="unshare-user unshare-mount setns mount umount fsopen open_tree pivot_root chroot bpf io_uring keyctl add_key perf
	userfaultfd init_module reboot swapon open_by_handle tiocsti tiocsti-high"

attack_calls() {
	# shellcheck disable=SC2086
	sandbox $plan -- "$attack" $forbidden
	for name in $forbidden; do expect "$name" EPERM; done
}

@test "syscalls: what is forbidden answers EPERM" {
	on_both_plans attack_calls
	sandbox --without seccomp --waive syscalls --waive terminal --waive network -- "$attack" unshare-user keyctl
	expect unshare-user "ok|ENOSPC|EPERM"
	expect keyctl "ok|ENOKEY|ENOSYS"
}

@test "syscalls: new and unknown calls are not fatal" {
	sandbox -- "$attack" clone3 faccessat2 rseq openat2 9999
	[ "$status" -eq 0 ]
	expect clone3 "ENOSYS|ok"
	expect faccessat2 ok
	expect rseq "EINVAL|EBUSY|EPERM|ENOSYS"
	expect openat2 "ENOSYS|ok"
	expect 9999 ENOSYS
}

@test "syscalls: threads, a name look-up and a process lock in Python" {
	sandbox -- python3 -c '
import multiprocessing, socket, threading
threads = [threading.Thread(target=lambda: None) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
multiprocessing.Lock()
try: print(socket.getaddrinfo("localhost", 80)[0][4][0])
except OSError as e: print("no name:", e)'
	[ "$status" -eq 0 ]
}

@test "descriptors and environment do not leak; --env passes what it names" {
	ulimit -n 4096 || skip "the limit of open files cannot be raised"
	run env TOKEN=s3 bash -c 'exec 2048</etc/hostname 9</; exec "$0" run --quiet -- sh -c "ls /proc/self/fd; env"' "$BULKHEAD"
	echo "$output"
	[[ $output != *TOKEN* ]]
	[[ $output != *2048* ]]
	[ "$(grep -c '^[0-9]*$' <<<"$output")" -eq 4 ] # 0 to 2 and that of ls
	TOKEN=s3 sandbox --env TOKEN -- sh -c 'echo "$TOKEN"'
	[ "$output" = s3 ]
	sandbox --env TOKEN=other -- sh -c 'echo "$TOKEN"'
	[ "$output" = other ]
}

@test "descriptors: a directory, O_PATH or a device as stdin is refused" {
	run "$BULKHEAD" run -- true </
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"descriptor 0 is a directory"* ]]
	run python3 -c 'import os, sys; os.dup2(os.open("/etc/hostname", os.O_PATH), 0); os.execv(sys.argv[1], [sys.argv[1], "run", "--", "true"])' "$BULKHEAD"
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"O_PATH"* ]]
	[ "$EUID" -eq 0 ] || return 0
	local disk
	disk=$(find /dev -maxdepth 1 -type b | head -1)
	[ -n "$disk" ] || return 0
	run bash -c 'exec "$0" run -- true <"$1"' "$BULKHEAD" "$disk"
	echo "$output"
	[ "$status" -ne 0 ]
}

setid() {
	# shellcheck disable=SC2086
	sandbox $plan --out results -- sh -c 'cd "$1" && exec "$0" setid-create=a setid-fchmod=b setid-chmod=c' "$attack" "${2:-/work/out}"
	[[ $output != *" ok"* ]]
	[ -z "$(find results -perm /6000)" ]
	rm -rf results/*
}

@test "privilege: no set-id bit can be made in --out" {
	mkdir results
	setid
	plan="--without mountns" setid - "$PWD/results"
	run "$attack" setid-fchmod=control
	[ "$output" = "setid-fchmod ok" ]
}

# Root without a capability still owns /proc/sys: where no uid of its own can be had, that must not be the way out.
@test "privilege: the host's settings cannot be written, not even as its root" {
	for plan in "" "--without userns" "--without own-uid" "--without own-uid --without userns" "--without mountns"; do
		# appending nothing opens for writing and changes nothing
		# shellcheck disable=SC2086
		sandbox $plan --waive memory -- sh -c ': >>/proc/sys/kernel/core_pattern && echo writable'
		[ "$status" -ne 0 ]
		[[ $output != *writable* ]]
	done
	[ "$EUID" -eq 0 ] || return 0
	: >>/proc/sys/kernel/core_pattern
}

@test "privilege: a set-uid program gains nothing" {
	local suid
	suid=$(find /usr/bin /bin -maxdepth 1 -perm -4000 -user root 2>/dev/null | head -1)
	[ -n "$suid" ] || skip "no set-uid program on this host"
	sandbox -- grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs)' /proc/self/status
	[[ $output == *"NoNewPrivs:	1"* ]]
	[[ $output == *"CapEff:	0000000000000000"* ]]
	sandbox -- sh -c 'su -c id root </dev/null 2>&1; id -u'
	[[ $output != *"uid=0"* ]]
	[ "${lines[-1]}" -ne 0 ]
}

@test "tree: setsid and double forks end with the workload" {
	local mark="77$$"
	for plan in "" "--without mountns" "--without cgroup-kill"; do
		# shellcheck disable=SC2086
		sandbox $plan -- sh -c "for i in 1 2 3; do (setsid sleep $mark &) & done; wait; sleep 0.1"
		run pgrep -f "^sleep $mark"
		[ -z "$output" ]
	done
	bash -c "(setsid sleep $mark 3>&- &)" # without us it stays
	run pgrep -f "^sleep $mark"
	[ -n "$output" ]
	kill "$output"
}

# Pain 36's neighbour: process groups may not be what the sweep goes by, nor end init with them.
@test "tree: a sweep by the subreaper alone" {
	local mark="78$$"
	run "$BULKHEAD" run --quiet --tier process --without landlock-scope --without cgroup-kill --without cgroup --without pidns \
		-- sh -c "(setsid sleep $mark &); exit 3"
	echo "$output"
	[ "$status" -eq 3 ]
	run pgrep -f "^sleep $mark"
	[ -z "$output" ]
}

@test "a sandbox in a sandbox fails closed, with a reason" {
	sandbox --ro "$BULKHEAD" -- "$BULKHEAD" run -- echo was-here
	[ "$status" -eq 125 ]
	[[ $output == *"refused: "* || $output == *"failed: "* ]]
	[[ $output != *was-here* ]]
}

# With capabilities over its own user namespace a launcher needs no further one: they are dropped as well.
forbidden_userns() {
	run unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces
		exec setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all "$@"' sh "$BULKHEAD" run "$@"
	echo "$output"
}

@test "user namespaces forbidden: refused by name or held without them, never quietly absent" {
	unshare -Ur true || skip "this host grants no user namespace to begin with"
	chmod 777 .
	forbidden_userns --workdir "$PWD" --without landlock -- echo was-here
	[ "$status" -eq 125 ]
	[[ $output == *"refused: guarantee "*userns* ]]
	[[ $output != *was-here* ]]
	forbidden_userns --workdir "$PWD" --json --report report -- echo was-here
	if [ "$status" -eq 0 ]; then
		[ "$(grep -c '"state": "refused"' report)" -eq 0 ]
		grep -A 4 '"id": "files"' report | grep '"mechanism": "Landlock"'
	else
		[ "$status" -eq 125 ]
		[[ $output != *was-here* ]]
	fi
}

@test "masked /proc: an empty one or a named refusal, never the outer one" {
	unshare -Urpfm --mount-proc true || skip "this host grants no user namespace with a /proc of its own"
	run unshare -Urpfm --mount-proc sh -c 'mount --bind /dev/null /proc/cmdline && exec "$0" run --quiet --json --report report -- ls -A /proc' "$BULKHEAD"
	echo "$output"
	if [ "$status" -eq 0 ]; then # init, the command, and no stranger; or nothing at all
		[ "$(grep -c '^[0-9]*$' <<<"$output")" -le 2 ] || [ -z "$output" ]
		[ -n "$output" ] || grep "/proc stays empty" report
	else
		[ "$status" -eq 125 ]
		[[ $output == *proc* ]]
	fi
}

@test "what is removed by --without is refused, not weakened" {
	for m in seccomp nnp caps session descriptors environment; do
		sandbox --without "$m" -- echo was-here
		[ "$status" -eq 125 ]
		[[ $output != *was-here* ]]
	done
}
