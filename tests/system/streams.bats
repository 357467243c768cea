#!/usr/bin/env bats
# What goes in and out of the command: bytes exact, ends of file passed on, floods bounded.
load lib/run
bats_require_minimum_version 1.5.0

@test "output-limit: a flood is cut at exactly that many bytes, and the verdict is output" {
	run -0 bash -c '"$@" | wc -c' bash timeout "$HANG_S" "$BULKHEAD" run --quiet --report "$REPORT" --output-limit 1M -- yes
	[[ $output == 1048576 ]]
	report_is 'outcome == "output"' 'limits_hit == ["output"]' 'output.truncated' 'output.stdout_bytes > 1 << 20' 'status == 137'
	# the control: without the limit more comes
	run -0 bash -c '"$@" | head -c 2000000 | wc -c' bash timeout "$HANG_S" "$BULKHEAD" run --quiet -- yes
	[[ $output == 2000000 ]]
}

@test "output-limit: what is kept is the beginning, byte for byte" {
	seq 1 300000 >whole
	timeout "$HANG_S" "$BULKHEAD" run --quiet --output-limit 1000001 -- seq 1 300000 >kept || [[ $? == 137 ]]
	cmp kept <(head -c 1000001 whole)
}

@test "output-limit: exactly as much as it allows is no flood" {
	sandboxed --output-limit 1M -- head -c 1048576 /dev/zero >kept
	[[ $(stat -c %s kept) == 1048576 ]]
	report_is 'outcome == "exited"' 'not output.truncated' 'limits_hit == []' 'output.stdout_bytes == 1 << 20'
}

@test "output-limit: stdout and stderr count together" {
	sandboxed --output-limit 100000 -- sh -c 'head -c 60000 /dev/zero; head -c 60000 /dev/zero >&2; sleep 20' >one 2>two ||
		[[ $? == 137 ]]
	[[ $(cat one two | wc -c) == 100000 ]]
	# it is ended as soon as one byte too many was seen, which may be before it has written all
	report_is 'outcome == "output"' '100000 < output.stdout_bytes + output.stderr_bytes <= 120000'
}

@test "output: the launcher's memory does not grow with a flood" {
	run -0 timeout "$HANG_S" "$PYTHON" -c 'import os, subprocess, sys
reader = subprocess.Popen(["wc", "-c"], stdin=subprocess.PIPE)
run = subprocess.Popen(sys.argv[1:], stdout=reader.stdin)
reader.stdin.close()
_, status, usage = os.wait4(run.pid, 0)
reader.wait()
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss < 48 << 10)' \
		"$BULKHEAD" run --quiet --report "$REPORT" -- head -c 300M /dev/zero
	[[ $output == *314572800* && $output == *"0 True"* ]]
	report_is 'output.stdout_bytes == 300 << 20'
}

@test "output: a slow reader loses nothing" {
	sandboxed -- seq 1 200000 | { sleep 1; cat; } >got
	cmp got <(seq 1 200000)
}

@test "output: a reader that goes away ends the writer as it would without us, with and without counting" {
	run -0 timeout "$HANG_S" bash -c '"$@" | head -n 1; exit ${PIPESTATUS[0]/141/0}' bash "$BULKHEAD" run --quiet -- yes
	[[ $output == y ]]
	run -0 timeout "$HANG_S" bash -c '"$@" | head -n 1; exit ${PIPESTATUS[0]/141/0}' bash \
		"$BULKHEAD" run --quiet --report "$REPORT" -- yes
	[[ $output == y ]]
	report_is 'outcome == "signaled"' 'signal == 13'
}

@test "bytes: binary data passes both ways unchanged, with and without counting" {
	head -c 5000000 /dev/urandom >data
	timeout "$HANG_S" "$BULKHEAD" run --quiet -- cat <data | cmp - data
	cat data | sandboxed -- cat | cmp - data
	sandboxed -- sh -c 'cat >&2' <data 2>err
	cmp err data
	report_is 'output.stderr_bytes == 5000000' 'output.stdout_bytes == 0'
}

@test "bytes: output is appended where the caller appends" {
	echo first >log
	"$BULKHEAD" run --quiet -- echo second >>log
	sandboxed -- echo third >>log
	[[ $(cat log) == $'first\nsecond\nthird' ]]
}

@test "stdin: its end is passed on, and closed descriptors are no accident" {
	run -0 bash -c 'printf abc | "$@"' bash "$BULKHEAD" run --quiet -- sh -c 'cat; echo end'
	[[ $output == abcend ]]
	run -0 bash -c '"$@" <&-' bash "$BULKHEAD" run --quiet -- sh -c 'cat; echo end'
	[[ $output == end ]]
	run -0 bash -c '"$@" <&-' bash "$BULKHEAD" run --quiet --report "$REPORT" -- sh -c 'cat; echo end'
	[[ $output == end ]]
	timeout "$HANG_S" "$BULKHEAD" run --quiet -- sh -c 'echo lost; exit 3' >&- || [[ $? == 3 ]]
	timeout "$HANG_S" "$BULKHEAD" run --quiet -- sh -c 'echo lost >&2; exit 3' 2>&- || [[ $? == 3 ]]
}

@test "stdin: a writer hears that the command has closed its end" {
	run -0 timeout "$HANG_S" bash -c 'yes | "$@"; exit ${PIPESTATUS[1]}' bash "$BULKHEAD" run --quiet -- sh -c 'exec <&-; sleep 0.5'
}

# Does the reader see the end of the output while the command still runs?
EARLY='import subprocess, sys
run = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
got = run.stdout.read()
print(got, "running" if run.poll() is None else "ended")
sys.exit(run.wait())'

@test "stdout: a command that closes it early ends it for the reader, too" {
	run -4 timeout "$HANG_S" "$PYTHON" -c "$EARLY" "$BULKHEAD" run --quiet -- sh -c 'echo a; exec >&-; sleep 2; exit 4'
	[[ $output == "b'a\\n' running" ]]
	run -4 timeout "$HANG_S" "$PYTHON" -c "$EARLY" "$BULKHEAD" run --quiet --report "$REPORT" -- \
		sh -c 'echo a; exec >&-; sleep 2; exit 4'
	[[ $output == "b'a\\n' running" ]]
	run -4 timeout "$HANG_S" "$PYTHON" -c "$EARLY" sh -c 'echo a; exec >&-; sleep 1; exit 4' # as without us
	[[ $output == "b'a\\n' running" ]]
}

@test "descriptors: a directory or a block device as stdin is refused by name" {
	run -125 "$BULKHEAD" run --quiet -- true </
	[[ $output == *"standard descriptor 0 is a directory"* ]]
}
