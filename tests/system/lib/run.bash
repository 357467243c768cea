# For the tests of `bulkhead run`.  A test works in its own directory, and whatever it starts carries a tag, so that a
# survivor is found by name whoever its parent is by then.
: "${BULKHEAD:?the program under test}" "${BULKHEAD_TREE:?the tree with the tests}"
LIB=$BULKHEAD_TREE/tests/system/lib
PYTHON=/usr/bin/python3
HANG_S=60 # nothing here takes a tenth of it

setup_file() {
	"$BULKHEAD" run --quiet --report "$BATS_FILE_TMPDIR/host.json" -- true
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	REPORT=$BATS_TEST_TMPDIR/report.json
	TAG=97.$BASHPID$RANDOM$RANDOM # an argument of sleep(1)
}

# Whatever went wrong, nothing with our tag stays.
teardown() {
	local pid
	for pid in $(tagged); do kill -KILL "$pid" 2>/dev/null || true; done
}

# Forks until it is stopped; a shell would give up at the first fork that fails.
BOMB='import os, time
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.001)'

# bulkhead run, with the report in $REPORT; a hang becomes a failure.
sandboxed() {
	timeout -k 5 "$HANG_S" "$BULKHEAD" run --quiet --report "$REPORT" "$@"
}

# Python expressions over the report, each of which must hold; its fields are variables.
report_is() {
	"$PYTHON" "$LIB/report.py" "$REPORT" "$@"
}

status_is() {
	[[ $status == "$1" ]] || {
		echo "status $status, expected $1; output: $output"
		return 1
	}
}

tagged() {
	pgrep -f -- "$TAG" || true
}

nothing_tagged() {
	local left
	left=$(tagged)
	[[ -z $left ]] || {
		echo "left behind: $(ps -o pid,ppid,stat,args -p "${left//$'\n'/,}")"
		return 1
	}
}

# For what a janitor does after the fact: a few seconds.
eventually() {
	local i
	for ((i = 0; i < 150; i++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	"$@"
}

file_has() {
	grep -q -- "$2" "$1"
}

some_tagged() {
	[[ -n $(tagged) ]]
}

needs() {
	local why
	why=$("$PYTHON" "$LIB/report.py" "$BATS_FILE_TMPDIR/host.json" --mechanism "$1") && return 0
	skip "this user on this host has no $1: $why"
}
