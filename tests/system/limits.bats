#!/usr/bin/env bats
# Limits: each is enforced, named in the result, and not mistaken for another; each has an arm in which it does not bite.
load lib/run

TAKE='import sys, time
held = b"x" * (int(sys.argv[1]) << 20)
time.sleep(float(sys.argv[2]))'

# --- memory

@test "memory: what takes more than --memory is stopped, and the verdict says memory" {
	run sandboxed --memory 128M -- python3 -c "$TAKE" 400 20
	status_is 137
	report_is 'outcome == "memory"' 'signal == 9' '"memory" in limits_hit' 'limits.memory_bytes == 128 << 20'
}

@test "memory: the same command under a larger limit ends by itself" {
	run sandboxed --memory 1G -- python3 -c "$TAKE" 400 0
	status_is 0
	report_is 'outcome == "exited"' 'limits_hit == []'
}

@test "memory: kill -9 is a signal, not memory" {
	run sandboxed --memory 128M -- sh -c 'kill -9 $$'
	status_is 137
	report_is 'outcome == "signaled"' 'signal == 9' 'limits_hit == []'
}

@test "memory: exit 137 is an exit code, not memory" {
	run sandboxed --memory 128M -- sh -c 'exit 137'
	status_is 137
	report_is 'outcome == "exited"' 'exit_code == 137' 'signal is None' 'limits_hit == []'
}

@test "memory: a child alone that runs out leaves the command's exit code, and is counted" {
	needs cgroup
	[[ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]] || skip "cgroup v2 kills the whole group at once"
	run sandboxed --memory 128M -- sh -c "python3 -c '$TAKE' 400 20; exit 0"
	status_is 0
	report_is 'outcome == "exited"' 'exit_code == 0' 'usage.oom_kills >= 1' '"memory" in limits_hit'
}

@test "memory: many small processes together are held to one limit" {
	run sandboxed --memory 128M --timeout 30s -- sh -c "for i in 1 2 3 4 5 6 7 8; do python3 -c '$TAKE' 60 3 & done; wait; exit 3"
	report_is '"memory" in limits_hit' 'outcome in ("memory", "exited")'
	if report_is 'outcome == "memory"'; then status_is 137; else status_is 3; fi
}

@test "memory: files written are in the total peak, not in the anonymous one" {
	needs cgroup
	run sandboxed --memory 512M -- sh -c 'dd if=/dev/zero of=f bs=1M count=90 2>/dev/null; sleep 0.5'
	status_is 0
	report_is 'usage.memory_peak_bytes > 90 << 20' 'usage.memory_anonymous_peak_bytes < 30 << 20'
	run sandboxed --memory 512M -- python3 -c "$TAKE" 90 1
	status_is 0
	report_is 'usage.memory_anonymous_peak_bytes > 80 << 20' 'usage.largest_process_bytes > 80 << 20'
}

RESERVE='import mmap
space = mmap.mmap(-1, 64 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=0)
touched = b"x" * (8 << 20)'

@test "memory: 64 GiB of address space reserved under --memory 64M is no memory" {
	run sandboxed --memory 64M -- python3 -c "$RESERVE"
	status_is 0
	report_is 'limits_hit == []'
	run sh -c 'ulimit -v 8388608; exec "$@"' sh "$PYTHON" -c "$RESERVE" # an address-space limit would refuse it
	[[ $status != 0 ]]
}

@test "memory: a limit that no cgroup holds is partial, and --strict refuses it" {
	run sandboxed --without cgroup --memory 64M -- true
	status_is 0
	report_is 'guarantee["resources"].state == "partial"' 'guarantee["resources"].gap'
	run sandboxed --without cgroup --memory 64M --strict -- touch ran
	status_is 125
	report_is 'outcome == "refused"' '"resources" in error'
}

@test "memory: sampling alone also stops a bomb" {
	run sandboxed --without cgroup --memory 128M -- python3 -c "$TAKE" 400 20
	status_is 137
	report_is 'outcome == "memory"' '"memory" in limits_hit'
}

# --- CPU time

SPINNERS='for i in 1 2 3 4; do (setsid sh -c "while :; do :; done" &); done; sleep 30'

@test "cpu-time: summed over children that have left the session and their parents" {
	run sandboxed --cpu-time 1s --timeout 25s --grace 0s -- sh -c "$SPINNERS"
	status_is 137
	report_is 'outcome == "cpu-time"' '"cpu-time" in limits_hit'
	run sandboxed --timeout 1s --grace 0s -- sh -c "$SPINNERS" # nothing else ends them
	status_is 124
	report_is 'outcome == "timed-out"' '"cpu-time" not in limits_hit'
}

@test "cpu-time: a sleeper uses none" {
	run sandboxed --cpu-time 1s -- sleep 2
	status_is 0
	report_is 'outcome == "exited"' 'usage.wall_us > 1900000' 'usage.user_us + usage.system_us < 900000'
}

@test "cpu-time: what reaped children used counts, with a group and with sampling" {
	local loop='i=0; while :; do python3 -c "for i in range(1500000): pass"; done'
	run sandboxed --cpu-time 1s --timeout 30s --grace 0s -- sh -c "$loop"
	status_is 137
	report_is 'outcome == "cpu-time"'
	run sandboxed --without cgroup --without cgroup-kill --cpu-time 1s --timeout 30s --grace 0s -- sh -c "$loop"
	status_is 137
	report_is 'outcome == "cpu-time"'
}

@test "cpus: a tenth of a processor is no more than that" {
	needs cgroup
	local spin='import time
end = time.monotonic() + 1.5
while time.monotonic() < end: pass'
	run sandboxed --cpus 0.1 -- python3 -c "$spin"
	status_is 0
	report_is 'usage.user_us + usage.system_us < 500000'
	run sandboxed -- python3 -c "$spin"
	report_is 'usage.user_us + usage.system_us > 500000'
}

# --- wall time

@test "timeout: what was written before is kept, and the status is 124" {
	run sandboxed --timeout 500ms --grace 0s -- sh -c "echo early; sleep $TAG"
	status_is 124
	[[ $output == early ]]
	report_is 'outcome == "timed-out"' 'limits_hit == ["timeout"]' 'output.stdout_bytes == 6'
	nothing_tagged
}

@test "timeout: SIGTERM first, and the grace time is used" {
	run sandboxed --timeout 500ms --grace 20s -- sh -c "trap 'echo got it; exit 7' TERM; sleep $TAG & wait"
	status_is 124
	[[ $output == "got it" ]]
	report_is 'outcome == "timed-out"' 'exit_code == 7' 'usage.wall_us < 20000000'
	nothing_tagged
}

@test "timeout: what ignores SIGTERM is killed after the grace time" {
	run sandboxed --timeout 300ms --grace 500ms -- sh -c "trap '' TERM; while :; do sleep $TAG; done"
	status_is 124
	report_is 'outcome == "timed-out"' 'signal == 9' 'usage.wall_us >= 800000'
	nothing_tagged
	# the control: the trap does hold against SIGTERM
	sh -c 'trap "" TERM; kill -TERM $$; exit 5' || [[ $? == 5 ]]
}

@test "timeout: daemons that ignore SIGTERM in sessions of their own are gone when the answer comes" {
	run sandboxed --timeout 500ms --grace 300ms -- \
		sh -c "trap '' TERM; setsid sh -c '(setsid sleep $TAG &); sleep $TAG' & setsid sleep $TAG & sleep $TAG"
	status_is 124
	nothing_tagged
}

@test "timeout: a command that stops itself, or its whole group, does not outlive it" {
	local who
	for who in '$$' 0; do
		run sandboxed --timeout 500ms --grace 300ms -- sh -c "sleep $TAG & kill -STOP $who; echo continued"
		status_is 124
		report_is 'outcome == "timed-out"'
		nothing_tagged
	done
}

@test "timeout: one that is not reached changes nothing" {
	run sandboxed --timeout 50s -- sh -c 'exit 4'
	status_is 4
	report_is 'outcome == "exited"' 'limits_hit == []'
}

# --- processes

FORKS='import os, sys, time
made = 0
for i in range(int(sys.argv[1])):
    try:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
    except BlockingIOError:
        break
print(made)'

@test "pids: forks beyond --pids fail, and those below do not" {
	run sandboxed --pids 32 -- python3 -c "$FORKS" 100
	status_is 0
	((output > 10 && output < 32))
	if "$PYTHON" "$LIB/report.py" "$BATS_FILE_TMPDIR/host.json" --mechanism cgroup; then
		report_is 'usage.forks_refused >= 1' '"pids" in limits_hit' 'outcome == "exited"'
	fi
	run sandboxed -- python3 -c "$FORKS" 100
	[[ $output == 100 ]]
	report_is 'limits_hit == []'
}

@test "pids: a fork bomb does not touch the next job of the same user, and ends with nothing left" {
	sandboxed --pids 64 --timeout 3s --grace 0s -- \
		python3 -c "$BOMB" "$TAG" >/dev/null 2>&1 3>&- &
	local bomb=$!
	eventually some_tagged
	run timeout "$HANG_S" "$BULKHEAD" run --quiet -- python3 -c "$FORKS" 20
	status_is 0
	[[ $output == 20 ]]
	wait "$bomb" || [[ $? == 124 || $? == 137 ]]
	nothing_tagged
}

# --- disk

FILL='try:
    with open("f", "wb") as f:
        for i in range(40):
            f.write(bytes(1 << 20))
            f.flush()
    print("all")
except OSError as e:
    print(e.strerror)
    raise SystemExit(9)'

@test "disk: writing more than --disk gives ENOSPC, and is named" {
	run sandboxed --disk 16M -- python3 -c "$FILL"
	status_is 9
	[[ $output == "No space left on device" ]]
	report_is 'outcome == "exited"' 'limits_hit == ["disk"]' 'usage.disk_used_bytes >= 16 << 20'
	run sandboxed --disk 64M -- python3 -c "$FILL"
	status_is 0
	[[ $output == all ]]
	report_is 'limits_hit == []'
}

@test "disk: one fallocate beyond it gives ENOSPC, too" {
	run sandboxed --disk 16M -- fallocate -l 1G f
	status_is 1
	[[ $output == *"No space left on device"* ]]
	run sandboxed --disk 16M -- fallocate -l 8M f
	status_is 0
}

@test "disk: a file of a granted directory that grows beyond it ends the command, and is named" {
	local grow='import signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
with open(sys.argv[1] + "/f", "wb") as f:
    for i in range(32): f.write(bytes(1 << 20)); f.flush()
print("all")'
	mkdir -m 777 granted
	run sandboxed --disk 16M --rw "$PWD/granted" -- python3 -c "$grow" "$PWD/granted"
	status_is 153
	report_is 'outcome == "signaled"' 'signal == 25' 'limits_hit == ["disk"]'
	[ "$(stat -c %s granted/f)" -eq $((16 << 20)) ]
	rm granted/f
	run sandboxed --disk 64M --rw "$PWD/granted" -- python3 -c "$grow" "$PWD/granted"
	status_is 0
	report_is 'limits_hit == []'
}

@test "disk: every writable place counts" {
	local place
	for place in /tmp /dev/shm /work /home/user; do
		run sandboxed --disk 8M -- sh -c "head -c 20M /dev/zero >$place/f"
		[[ $status != 0 && $output == *"No space left on device"* ]] || {
			echo "$place: $status $output"
			return 1
		}
	done
}

@test "disk: empty files run out of inodes" {
	local make='import os, sys
made = 0
try:
    for made in range(int(sys.argv[1])): os.close(os.open(f"f{made}", os.O_CREAT | os.O_WRONLY))
except OSError as e:
    print(e.strerror)
    sys.exit(9)'
	run sandboxed --disk 8M -- python3 -c "$make" 20000
	status_is 9
	[[ $output == "No space left on device" ]]
	report_is 'limits_hit == ["disk"]'
	run sandboxed --disk 256M -- python3 -c "$make" 20000
	status_is 0
}

@test "disk: does not cut the caller's own file or pipe" {
	"$BULKHEAD" run --quiet --disk 4M -- head -c 20M /dev/zero >file
	[[ $(stat -c %s file) == 20971520 ]]
	[[ $("$BULKHEAD" run --quiet --disk 4M -- head -c 20M /dev/zero | wc -c) == 20971520 ]]
}

@test "disk: nor where files are bounded one by one" {
	mkdir granted
	"$BULKHEAD" run --quiet --disk 4M --out granted -- head -c 20M /dev/zero >file
	[[ $(stat -c %s file) == 20971520 ]]
	# that limit is there, though: in the granted directory
	run sandboxed --disk 4M --out granted -- sh -c 'head -c 20M /dev/zero >out/f'
	[[ $status != 0 ]]
	[[ $(stat -c %s granted/f) -le 4194304 ]]
}

@test "open-files: is the limit per process" {
	run sandboxed --open-files 64 -- sh -c 'ulimit -n; ulimit -Hn'
	[[ $output == $'64\n64' ]]
}
