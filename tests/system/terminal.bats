#!/usr/bin/env bats
# Terminals: nothing pushed into the caller's, a terminal of its own inside, and the caller's as it was afterwards.
load lib/run

in_terminal() {
	TAG=$TAG run timeout -k 5 "$HANG_S" "$PYTHON" "$LIB/pty_run.py" "$1" "$BULKHEAD" "${@:2}"
	[[ $status != 77 ]] || skip "${output##*skip: }"
	status_is 0
	nothing_tagged
}

@test "TIOCSTI and TIOCLINUX are refused, whatever the upper half of the request holds" {
	in_terminal injection
}

@test "the control: TIOCSTI works without us, and without the filter" {
	in_terminal injection_control
}

@test "it has a terminal of its own, with the caller's size" {
	in_terminal is_terminal
}

@test "/dev/tty is that terminal" {
	in_terminal session_is_own
}

@test "a resize is one SIGWINCH, with the new size" {
	in_terminal resize
}

@test "Ctrl-C and Ctrl-\\ end it, or reach its handler, and leave no process" {
	in_terminal interrupt
}

@test "Ctrl-D ends its input" {
	in_terminal end_of_input
}

@test "Ctrl-Z stops it under a shell, fg continues it" {
	in_terminal suspend
}

@test "Ctrl-Z does nothing where nobody could continue it" {
	in_terminal suspend_alone
}

@test "the terminal's settings are restored after every kind of end" {
	in_terminal restored
}

@test "a terminal as stdin beside a pipe as stdout" {
	in_terminal input_only
}

@test "a terminal that goes away takes the run along" {
	in_terminal hang_up
}

@test "the same without namespaces: Ctrl-C, end of input, settings" {
	local scenario
	for scenario in interrupt end_of_input restored; do
		in_terminal "$scenario" --without pidns --without mountns --without userns --waive signals
	done
}
