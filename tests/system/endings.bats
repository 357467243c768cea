#!/usr/bin/env bats
# How a run ends: exit codes, signals, what is left, and who may outlive whom.
load lib/run
bats_require_minimum_version 1.5.0

# --- exit codes

@test "exit: every code comes back, and the record tells it from ours" {
	local code
	for code in 0 1 2 124 125 126 127 137 255; do
		run "-$code" sandboxed -- sh -c "exit $code"
		report_is 'outcome == "exited"' "exit_code == $code" 'signal is None' 'error is None'
	done
}

@test "exit: a signal gives 128+N and its number" {
	local n
	for n in 1 2 6 9 11 13 15 31; do
		run sandboxed -- sh -c "kill -$n \$\$"
		status_is $((128 + n))
		report_is 'outcome == "signaled"' "signal == $n" 'exit_code is None'
	done
}

@test "exit: a refusal is 125, and the record says that nothing started" {
	run sandboxed --without seccomp -- touch ran
	status_is 125
	report_is 'outcome == "refused"' 'exit_code is None' '"syscalls" in error'
}

@test "exit: wrong usage is 2" {
	local words
	for words in "--no-such-option -- true" "" "--timeout -- true" "--memory lots -- true"; do
		run "$BULKHEAD" run $words
		status_is 2
	done
}

@test "exit: no such command is 127, one that cannot be run is 126, as in a shell" {
	run -127 sandboxed -- no-such-command-$RANDOM
	report_is 'outcome == "not-started"' 'exit_code == 127' '"No such file" in error'
	run -127 sandboxed -- /no/such/file
	report_is '"/no/such/file" in error'
	run sandboxed -- /etc/passwd
	status_is 126
	report_is 'outcome == "not-started"' 'exit_code == 126' '"/etc/passwd" in error' '"Permission denied" in error'
	run sandboxed -- /usr
	status_is 126
}

@test "exit: a script with CRLF names the interpreter that is not there" {
	printf '#!/bin/sh\r\necho ran\r\n' >crlf
	printf '#!/bin/sh\necho ran\n' >lf
	chmod 755 crlf lf
	run -127 sandboxed --in crlf -- ./crlf
	report_is 'outcome == "not-started"' '"interpreter /bin/sh?" in error'
	run sandboxed --in lf -- ./lf
	status_is 0
	[[ $output == ran ]]
}

@test "exit: a program whose ELF interpreter is missing names it" {
	"$PYTHON" - /usr/bin/true moved <<-'END'
		import re, sys
		data = open(sys.argv[1], "rb").read()
		name = re.search(rb"/lib[^\0]*ld-linux[^\0]*\0", data).group(0)
		open(sys.argv[2], "wb").write(data.replace(name, b"/nope/ld.so".ljust(len(name), b"\0"), 1))
	END
	chmod 755 moved
	run -127 sandboxed --in moved -- ./moved
	report_is '"/nope/ld.so" in error'
	cp /usr/bin/true unmoved
	run sandboxed --in unmoved -- ./unmoved
	status_is 0
}

@test "exit: PATH is searched as a shell does, past what cannot be run" {
	mkdir -p first second
	echo "not a program" >first/prog
	printf '#!/bin/sh\necho second\n' >second/prog
	chmod 755 second/prog
	run sandboxed --ro first --ro second --env "PATH=$PWD/none:$PWD/first:$PWD/second:/usr/bin:/bin" -- prog
	status_is 0
	[[ $output == second ]]
	run sandboxed --ro first --env "PATH=$PWD/first" -- prog
	status_is 126
}

# --- signals

@test "pid 1: SIGTERM to itself ends the command, though it would not end a pid 1" {
	run sandboxed -- sh -c 'kill -TERM $$; echo alive'
	status_is 143
	[[ -z $output ]]
	unshare -Ur true 2>/dev/null || skip "the control needs a user namespace of its own"
	run timeout "$HANG_S" unshare -Urpf --kill-child sh -c 'kill -TERM $$; echo alive'
	[[ $output == alive ]]
}

@test "pid 1: orphans are reaped" {
	local orphans='import os, sys, time
for i in range(int(sys.argv[1])):
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.waitpid(pid, 0)
def zombies():
    count = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            count += open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            pass
    return count
end = time.monotonic() + float(sys.argv[2])
while (left := zombies()) and time.monotonic() < end: time.sleep(0.05)
print(left)'
	run sandboxed -- python3 -c "$orphans" 500 10
	status_is 0
	[[ $output == 0 ]]
	unshare -Urpfm --mount-proc true 2>/dev/null || skip "the control needs namespaces of its own"
	run timeout "$HANG_S" unshare -Urpfm --mount-proc --kill-child "$PYTHON" -c "$orphans" 20 0.5
	[[ $output == 20 ]]
}

# Start in the background, with its output in the file "out"; wait until it says ready.
start() {
	rm -f out # a word of the last one must not be taken for this one's
	"$@" >out 2>&1 </dev/null 3>&- &
	STARTED=$!
	eventually file_has out ready
}

@test "signals: TERM, HUP, INT, QUIT, USR1 and USR2 reach the command's handler" {
	local name
	for name in TERM HUP INT QUIT USR1 USR2; do
		# a shell starts background commands with INT and QUIT ignored, which no shell can trap: so Python resets them
		start "$PYTHON" -c 'import os, signal, sys
for s in (signal.SIGINT, signal.SIGQUIT): signal.signal(s, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$BULKHEAD" run --quiet -- \
			sh -c "trap 'echo got; exit 9' $name; echo ready; sleep $TAG & wait"
		kill -s "$name" "$STARTED"
		wait "$STARTED" || [[ $? == 9 ]]
		file_has out got
		nothing_tagged
	done
}

@test "signals: TERM ends a command without a handler by that signal" {
	start sandboxed -- sh -c "echo ready; sleep $TAG"
	kill -TERM "$(pgrep -P "$STARTED")"
	wait "$STARTED" || [[ $? == 143 ]]
	report_is 'outcome == "signaled"' 'signal == 15'
	nothing_tagged
}

@test "signals: under nohup a hangup ends nothing" {
	start nohup "$BULKHEAD" run --quiet -- sh -c 'echo ready; sleep 1; echo done'
	kill -HUP "$STARTED"
	wait "$STARTED"
	file_has out done
	# the control: without nohup it does
	start "$BULKHEAD" run --quiet -- sh -c 'echo ready; sleep 5; echo done'
	kill -HUP "$STARTED"
	wait "$STARTED" || [[ $? == 129 ]]
	run ! file_has out done
}

# --- what is left

DAEMONS() {
	echo "trap '' TERM HUP; setsid sh -c '(setsid sleep $TAG &) ; sleep $TAG' & (sleep $TAG &); sleep 0.2"
}

@test "tree: a grandchild that holds the pipe does not hold the caller" {
	local began=$SECONDS
	[[ $("$BULKHEAD" run --quiet -- sh -c '(sleep 50 &); printf tail') == tail ]]
	((SECONDS - began < 20))
	run timeout 1 sh -c 'sh -c "(sleep 3 &); printf tail" | cat' # without us it does
	status_is 124
}

# A tree in which every mechanism but the named ones is off, against daemons and against a fork bomb.
tree_holds() { # STATE WORDS OPTION...
	local state=$1 words=$2
	shift 2
	run sandboxed "$@" -- sh -c "$(DAEMONS)"
	status_is 0
	nothing_tagged
	report_is "guarantee['tree'].state == '$state'" "'$words' in (guarantee['tree'].mechanism or '')"
	# A fork can outrun a reader of /proc: that is the gap of a partial mechanism, and not for this machine to show.
	[[ $state == held ]] || return 0
	# Without a group and without a user namespace only sampling counts a user's processes: a bomb would grow for as long
	# as a sample takes.
	[[ $EUID == 0 ]] || return 0
	run sandboxed "$@" --pids 60 --timeout 1s --grace 0s -- \
		python3 -c "$BOMB" "$TAG"
	[[ $status == 124 || $status == 137 ]] || status_is 124 # 137: where sampling holds --pids and met it first
	nothing_tagged
}

# Without namespaces of its own the workload is held by Landlock alone; `resources` then has no scratch space of fixed size.
NO_PIDNS=(--without pidns --without mountns --without userns)

@test "tree: held by cgroup.kill alone" {
	needs cgroup-kill
	tree_holds held cgroup.kill "${NO_PIDNS[@]}" --without subreaper --without landlock-scope --waive signals
}

@test "tree: held by the pid namespace alone" {
	tree_holds held "pid namespace" --without cgroup-kill --without cgroup --without subreaper --without landlock-scope
}

@test "tree: held by the scoped kill alone" {
	needs landlock-scope
	tree_holds held "scoped kill" "${NO_PIDNS[@]}" --without cgroup-kill
}

@test "tree: held in part by the subreaper alone, and said so" {
	tree_holds partial "subreaper sweep" "${NO_PIDNS[@]}" --without cgroup-kill --without landlock-scope --waive signals
}

@test "tree: with none of them it is refused, and if waived the daemons stay" {
	local off=("${NO_PIDNS[@]}" --without cgroup --without cgroup-kill --without landlock-scope
		--without subreaper --waive signals)
	run sandboxed "${off[@]}" -- true
	status_is 125
	report_is '"tree" in error'
	# without a group, since one that survivors sit in cannot be removed, and that is reported as a failure
	run sandboxed "${off[@]}" --without cgroup --waive tree -- sh -c "$(DAEMONS) >/dev/null 2>&1 3>&-"
	status_is 0
	report_is 'guarantee["tree"].state == "waived"'
	some_tagged # which teardown ends
}

@test "tree: the process tier, too, leaves nothing" {
	run sandboxed --tier process -- sh -c "$(DAEMONS)"
	status_is 0
	nothing_tagged
}

# --- who may outlive whom

group_of() {
	find /sys/fs/cgroup -type d -regextype egrep -regex ".*/bulkhead-[0-9a-f]+-$1-[^/]*" 2>/dev/null | grep -q .
}

no_group_of() {
	! group_of "$1"
}

empty_folder() {
	[[ ! -d $1 || -z $(find "$1" -mindepth 1 -maxdepth 1 -name '[!.]*' 2>/dev/null) ]]
}

# Many rounds with the launcher killed at some moment of its start.
killed_launchers() { # ROUNDS OPTION...
	local rounds=$1 i pid pids=()
	shift
	for ((i = 0; i < rounds; i++)); do
		"$BULKHEAD" run --quiet --workdir "$BATS_TEST_TMPDIR/workdir" "$@" -- sleep "$TAG" >/dev/null 2>&1 </dev/null 3>&- &
		pid=$!
		pids+=("$pid")
		sleep "0.0$(printf %02d $((i % 21)))"
		kill -KILL "$pid"
		wait "$pid" 2>/dev/null || true
	done
	eventually nothing_tagged
	# Killed in the fraction of a millisecond between making a directory and starting the janitor, a launcher leaves it
	# empty; the next run of more than a moment sweeps what is older than ten seconds.
	if ! eventually empty_folder "$BATS_TEST_TMPDIR/workdir"; then
		sleep 11
	fi
	"$BULKHEAD" run --quiet --workdir "$BATS_TEST_TMPDIR/workdir" "$@" -- sleep 0.5 >/dev/null 2>&1 </dev/null 3>&-
	for pid in "${pids[@]}"; do eventually no_group_of "$pid"; done
	eventually empty_folder "$BATS_TEST_TMPDIR/workdir" || {
		find "$BATS_TEST_TMPDIR/workdir"
		return 1
	}
}

@test "killed: the launcher by SIGKILL 0 to 20 ms after its start, 84 times: nothing stays" {
	local mounts
	mounts=$(wc -l </proc/self/mountinfo)
	killed_launchers 84
	[[ $(wc -l </proc/self/mountinfo) == "$mounts" ]]
}

@test "killed: the same without namespaces, with workspaces on disk" {
	killed_launchers 42 "${NO_PIDNS[@]}" --without cgroup-kill
}

@test "killed: the same in the process tier" {
	killed_launchers 42 --tier process
}

@test "killed: a launcher whose workload runs takes it along" {
	local options
	for options in "--tier sandbox" "--tier process" "${NO_PIDNS[*]}" "${NO_PIDNS[*]} --without cgroup-kill"; do
		start "$BULKHEAD" run --quiet $options -- sh -c "setsid sleep $TAG & trap '' TERM; echo ready; sleep $TAG"
		some_tagged
		kill -KILL "$STARTED"
		wait "$STARTED" 2>/dev/null || true
		eventually nothing_tagged
	done
}

@test "caller: --die-with-parent ends the run with the caller, and without it the run goes on" {
	sh -c '"$@" >/dev/null 2>&1 </dev/null & sleep 0.5' sh \
		"$BULKHEAD" run --quiet --die-with-parent -- sh -c "setsid sleep $TAG & sleep $TAG" 3>&-
	eventually nothing_tagged
	sh -c '"$@" >out 2>&1 </dev/null & sleep 0.2' sh "$BULKHEAD" run --quiet -- sh -c 'sleep 1; echo finished' 3>&-
	eventually file_has out finished
}

@test "caller: a thread that starts the run and ends does not end it" {
	local option
	for option in --quiet --die-with-parent; do
		run timeout "$HANG_S" "$PYTHON" -c 'import subprocess, sys, threading
started = []
t = threading.Thread(target=lambda: started.append(subprocess.Popen(sys.argv[1:])))
t.start()
t.join()
sys.exit(started[0].wait())' "$BULKHEAD" run "$option" -- sh -c 'sleep 0.7; echo finished; exit 6'
		status_is 6
		[[ $output == finished* ]]
	done
}
