#!/usr/bin/env bats
# The record of a run: its places, its fields, and that every kind of ending fits docs/schema/run-report.schema.json.
load lib/run
bats_require_minimum_version 1.5.0

fits() {
	"$PYTHON" "$LIB/validate.py" "$BULKHEAD_TREE/docs/schema/run-report.schema.json" "$@"
}

@test "schema: it is valid, describes every field, and allows no other" {
	run -0 "$PYTHON" "$LIB/validate.py" "$BULKHEAD_TREE/docs/schema/run-report.schema.json"
	sandboxed -- true
	"$PYTHON" - "$REPORT" bad.json <<-'END'
		import json, sys
		report = json.load(open(sys.argv[1]))
		report["usage"]["wall_s"] = 1
		json.dump(report, open(sys.argv[2], "w"))
	END
	run -1 fits bad.json
}

@test "schema: every kind of outcome fits it" {
	local reports="$BATS_TEST_TMPDIR/reports" hog='x = b"x" * (400 << 20); import time; time.sleep(20)'
	mkdir "$reports"
	one() { # OUTCOME STATUS OPTION...
		local outcome=$1 want=$2
		shift 2
		REPORT=$reports/$outcome-$RANDOM.json
		sandboxed "$@" >/dev/null 2>&1 || [[ $? == "$want" ]] || return 1
		report_is "outcome == '$outcome'" "status == $want"
	}
	one exited 0 -- true
	one exited 5 -- sh -c 'exit 5'
	one signaled 134 -- sh -c 'kill -ABRT $$'
	one timed-out 124 --timeout 300ms --grace 0s -- sleep 9
	one cpu-time 137 --cpu-time 1s -- sh -c 'while :; do :; done'
	one memory 137 --memory 128M -- python3 -c "$hog"
	one output 137 --output-limit 1K -- yes
	one not-started 127 -- /no/such/file
	one not-started 126 -- /etc/passwd
	one refused 125 --tier vm -- true
	one refused 125 --without seccomp -- true
	one refused 125 --tenant stranger -- true
	one failed 125 --ro /no/such/path -- true
	one exited 0 --waive syscalls --waive terminal --waive network --waive memory --without seccomp --cpus 0.5 --memory none --pids none --disk none -- true
	one exited 0 --tier process -- true
	one exited 1 --disk 4M -- sh -c 'head -c 9M /dev/zero >f'
	one exited 0 -- printf '\377'
	one exited 0 -- true "$(printf '\377')"
	fits "$reports"/*.json
}

@test "schema: the kind of outcome that only sampling finds fits it" {
	local fork='import os, time
for i in range(45): # more than the limit, less than the cap that holds between two samples
    if os.fork() == 0:
        time.sleep(20)
time.sleep(20)'
	sandboxed --without cgroup --without cgroup-kill --without userns --without pidns --without mountns --waive signals \
		--pids 30 -- python3 -c "$fork" || [[ $? == 137 ]]
	report_is 'outcome == "pids"' '"pids" in limits_hit'
	fits "$REPORT"
}

@test "report: FILE gets JSON, - the table, --json JSON on stdout, each after the output" {
	"$BULKHEAD" run --quiet --report file -- echo hello >out
	[[ $(cat out) == hello ]]
	fits file
	"$BULKHEAD" run --quiet --report - -- echo hello >out
	[[ $(head -n 1 out) == hello ]]
	file_has out '^outcome: exited, exit code 0'
	file_has out '^tree  *held'
	"$BULKHEAD" run --quiet --json -- echo hello >out
	[[ $(head -n 1 out) == hello ]]
	tail -n +2 out >json
	fits json
	"$BULKHEAD" run --quiet --json --report - -- true >json
	fits json
}

@test "report: one that cannot be written is refused before anything runs" {
	mkdir granted
	run -125 "$BULKHEAD" run --out granted --report /no/such/place/report -- touch out/ran
	[[ $output == *"/no/such/place/report"* && ! -e granted/ran ]]
}

@test "report: the command cannot write it" {
	sandboxed -- sh -c 'for fd in 3 4 5 6 7 8 9; do echo forged >&$fd; done; exit 0' 2>/dev/null
	fits "$REPORT"
	report_is 'outcome == "exited"'
	# not even where a closed stdin or stdout leaves its number free
	sandboxed -- sh -c 'echo forged; echo forged >&0; true' <&- >&- 2>/dev/null
	fits "$REPORT"
}

@test "report: what was asked for is what it says" {
	sandboxed --memory 96M --pids 17 --disk 5M --output-limit 2M --timeout 90s --grace 3s --cpu-time 40s --open-files 99 -- \
		sh -c 'exit 3' a b || [[ $? == 3 ]]
	report_is 'limits.memory_bytes == 96 << 20' 'limits.pids == 17' 'limits.disk_bytes == 5 << 20' \
		'limits.output_bytes == 2 << 20' 'limits.timeout_ms == 90000' 'limits.grace_ms == 3000' \
		'limits.cpu_time_ms == 40000' 'limits.open_files == 99' 'command == ["sh", "-c", "exit 3", "a", "b"]' \
		'tier == "sandbox"' 'version == 1'
}

@test "report: the phases add up to the wall time, and the run phase is the command's" {
	sandboxed -- sleep 0.3
	report_is 'abs(sum(phases.values()) - usage.wall_us) <= 1000' 'phases.run_us >= 300000' \
		'all(v >= 0 for v in phases.values())' 'usage.wall_us < 30000000'
}

@test "report: the twentieth start is no slower than the first by an order of magnitude" {
	local i
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		sandboxed -- true
		"$PYTHON" -c 'import json, sys; print(json.load(open(sys.argv[1]))["usage"]["wall_us"])' "$REPORT" >>walls
	done
	[[ $(head -n 5 walls | sort -n | sed -n 3p) -gt 0 ]]
	(($(tail -n 5 walls | sort -n | sed -n 3p) < 10 * $(head -n 5 walls | sort -n | sed -n 3p)))
}

@test "summary: a plain success says nothing, --quiet hides what is partial, a refusal is always said" {
	run -0 "$BULKHEAD" run --quiet -- true
	[[ -z $output ]]
	run -0 "$BULKHEAD" run --without cgroup -- true
	[[ $output == *"resources partial"* ]]
	run -125 "$BULKHEAD" run --quiet --without seccomp -- true
	[[ $output == *refused* ]]
	run -127 "$BULKHEAD" run --quiet -- /no/such/file
	[[ $output == *"/no/such/file"* ]]
}
