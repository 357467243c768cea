#!/usr/bin/env bats
# bulkhead doctor: what it says, and that run says the same.

bats_require_minimum_version 1.5.0

setup_file() {
	local built

	export AGREE="$BULKHEAD_TREE/tests/system/doctor/agree" VALID="$BULKHEAD_TREE/tests/system/doctor/valid"
	export SCHEMA="$BULKHEAD_TREE/docs/schema/doctor.schema.json"
	export FAIL_CALL="$BATS_FILE_TMPDIR/fail_call"
	for built in "$BULKHEAD_TREE"/build/tests/*/fail_call; do
		[ ! -x "$built" ] || FAIL_CALL="$built"
	done
	if [ ! -x "$FAIL_CALL" ]; then
		cc -O -o "$FAIL_CALL" "$BULKHEAD_TREE/tests/shim/fail_call.c" -lseccomp || FAIL_CALL=
	fi
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

need_fail_call() {
	[ -n "$FAIL_CALL" ] || skip "tests/shim/fail_call cannot be built here"
}

need_userns() {
	unshare -Ur true 2>/dev/null || skip "this host grants no user namespace"
}

# One field of doctor's JSON: ask PYTHON-EXPRESSION-OF-d, from the last $output.
ask() {
	python3 -c 'import json, sys; d = json.load(sys.stdin); t = {x["tier"]: x for x in d["tiers"]}
c = {x["name"]: x for x in d["checks"]}; print(eval(sys.argv[1]))' "$1" <<<"$output"
}

@test "the sandbox tier is available here, and the table says what holds each guarantee" {
	run -0 "$BULKHEAD" doctor
	[[ $output == *"held in tier SANDBOX by"* ]]
	for word in memory environ files control-plane signals tree network syscalls privilege resources environment \
		descriptors terminal devices residue kernel; do
		grep -Eq "^$word +[^ ]" <<<"$output"
	done
	[[ $output == *"vm               not in this build"* ]]
	[[ $output != *REFUSED* && $output != *untried* ]]
}

@test "no line is longer than 100 columns, and there is no colour in a pipe" {
	run "$BULKHEAD" doctor --without mountns --without landlock
	[ "$(awk '{ if (length($0) > m) m = length($0) } END { print m }' <<<"$output")" -le 100 ]
	[[ $output != *$'\033'* ]]
	! grep -q ' $' <<<"$output"
}

@test "colour on a terminal, and none with NO_COLOR or on a dumb one" {
	run script -qec "env TERM=xterm '$BULKHEAD' doctor" /dev/null
	[[ $output == *$'\033[32m'* ]]
	run script -qec "env TERM=xterm NO_COLOR=1 '$BULKHEAD' doctor" /dev/null
	[[ $output != *$'\033['* && $output == *GUARANTEE* ]]
	run script -qec "env TERM=dumb '$BULKHEAD' doctor" /dev/null
	[[ $output != *$'\033['* ]]
}

@test "every tier: process 0, sandbox 0, vm 1" {
	run -0 "$BULKHEAD" doctor --tier process
	run -0 "$BULKHEAD" doctor --tier=sandbox
	run -1 "$BULKHEAD" doctor --tier vm
	[[ $output == *"vm (asked)       not in this build"* ]]
}

@test "wrong usage is 2, with one line that names the word" {
	run -2 "$BULKHEAD" doctor --nonsense
	[ "$output" = "bulkhead doctor: unknown option '--nonsense'" ]
	run -2 "$BULKHEAD" doctor --tear=vm
	[[ $output == *"did you mean --tier?" ]]
	run -2 "$BULKHEAD" doctor --tier
	[[ $output == *"--tier needs a value"* ]]
	run -2 "$BULKHEAD" doctor --tier moon
	[[ $output == *"--tier: "* ]]
	run -2 "$BULKHEAD" doctor --json=yes
	run -2 "$BULKHEAD" doctor --memory 1G
	run -2 "$BULKHEAD" doctor --without nothing
	run -2 "$BULKHEAD" doctor something
	[[ $output == *"takes no arguments"* ]]
	[ "${#lines[@]}" -eq 1 ]
}

@test "--help says the options; the completions know the same" {
	run -0 "$BULKHEAD" doctor --help
	for option in tier strict workdir without json help; do
		[[ $output == *"--$option"* ]]
		"$BULKHEAD" completion bash | grep -q -- "--$option"
	done
	"$BULKHEAD" completion bash | grep -A1 $'^\tdoctor)' | grep -q "options='--tier --strict --workdir --without --json --help'"
}

@test "the JSON is valid: available, refused, and with a tier that is not in the build" {
	for options in "" "--tier process" "--tier vm" "--strict" "--without seccomp" "--without mountns --without landlock" \
		"--without userns --without pidns --without cgroup --without rlimits"; do
		# shellcheck disable=SC2086 # several words
		"$BULKHEAD" doctor --json $options >out.json || [ $? -eq 1 ]
		"$VALID" "$SCHEMA" <out.json
	done
}

@test "nothing is executed, and nothing is left" {
	local before

	mkdir -m 700 w
	run -0 "$BULKHEAD" doctor --workdir "$PWD/w"
	[ -z "$(ls -A w)" ]
	before=$(find /sys/fs/cgroup -name 'bulkhead-*' -not -name bulkhead-launcher 2>/dev/null | wc -l)
	"$BULKHEAD" doctor >/dev/null
	[ "$(find /sys/fs/cgroup -name 'bulkhead-*' -not -name bulkhead-launcher 2>/dev/null | wc -l)" -le "$before" ]
}

@test "doctor agrees with run, whatever is taken away" {
	for options in "" "--tier process" "--strict" "--tier process --strict" "--without seccomp" "--without landlock" \
		"--without mountns" "--without pidns" "--without userns" "--without netns" "--without cgroup" "--without rlimits" \
		"--without cgroup --without rlimits" "--without mountns --without landlock" "--without own-uid --without pidns" \
		"--without caps" "--without nnp" "--without session" "--without environment" "--without descriptors" \
		"--tier process --without workspace" "--tier process --without cgroup-kill --without landlock-scope" \
		"--tier process --without cgroup-kill --without landlock-scope --without subreaper" \
		"--without cgroup-kill --without pidns --without landlock-scope --strict"; do
		echo "options: $options"
		# shellcheck disable=SC2086 # several words
		"$AGREE" "$BULKHEAD" -- $options
	done
}

@test "a mount step that a filter refuses is named alike by doctor and run (pain 2)" {
	local call step

	need_fail_call
	while read -r call step; do
		echo "call: $call"
		# Landlock holds the boundary then; the step is in the evidence of both.
		run -0 "$AGREE" "$BULKHEAD" --prefix "$FAIL_CALL" --prefix "$call" --prefix EPERM --prefix -- --
		[[ $output == *"\"mountns\": \"$step"* ]]
		# Without it both refuse, and name the step on the one line that people see.
		run -0 "$AGREE" "$BULKHEAD" --prefix "$FAIL_CALL" --prefix "$call" --prefix EPERM --prefix -- -- --without landlock
		[[ ${lines[-1]} == "doctor 1, run 125: "*"$step"* ]]
		run -125 "$FAIL_CALL" "$call" EPERM -- "$BULKHEAD" run --without landlock -- touch ran
		[[ $output == *"$step"* ]]
		[ ! -e ran ]
		run -1 "$FAIL_CALL" "$call" EPERM -- "$BULKHEAD" doctor --without landlock
		[[ $(tr -s ' \n' ' ' <<<"$output") == *"mountns unsupported: $step"* ]]
		[[ $output == *"own-seccomp          note"* ]]
		[[ $output == *"--security-opt seccomp=FILE"* ]]
	done <<-'END'
		fsopen fsopen tmpfs
		fsmount fsmount the scratch tmpfs
		move_mount attach the private root
		open_tree open_tree /usr
		mount_setattr m
		pivot_root pivot_root
		umount2 detach the host's tree
	END
}

@test "namespaces, Landlock and seccomp that a filter refuses: doctor agrees with run" {
	need_fail_call
	for fault in "clone3 EPERM" "unshare EPERM" "landlock_create_ruleset ENOSYS" "landlock_create_ruleset EOPNOTSUPP" \
		"landlock_restrict_self EPERM" "sethostname EPERM" "setgroups EPERM" "setresuid EPERM" "fsopen ENOSYS"; do
		for more in "" "--tier process" "--without landlock"; do
			echo "fault: $fault $more"
			# shellcheck disable=SC2086 # several words
			"$AGREE" "$BULKHEAD" --prefix "$FAIL_CALL" --prefix "${fault% *}" --prefix "${fault#* }" --prefix -- -- $more
		done
	done
}

@test "user namespaces switched off: named, with the sysctl" {
	need_userns
	cat >inside <<-'END'
		echo 0 >/proc/sys/user/max_user_namespaces || exit 77
		"$BULKHEAD" doctor --json >doctor.json
		echo "$?" >doctor.status
		"$BULKHEAD" run -- touch ran
		echo "$?" >run.status
	END
	run unshare -Ur sh inside
	[ "$status" -ne 77 ] || skip "max_user_namespaces cannot be written"
	output=$(cat doctor.json)
	[ "$(ask 'c["user-namespaces"]["state"]')" = missing ]
	[ "$(ask 'c["user-namespaces"]["remedy"]')" = "sysctl user.max_user_namespaces=10000" ]
	[ "$(ask 't["sandbox"]["mechanisms"]["userns"]["errno"]')" = ENOSPC ]
	[ "$(ask 't["sandbox"]["mechanisms"]["userns"]["remedy"]')" = "sysctl user.max_user_namespaces=10000" ]
	case $(cat doctor.status),$(cat run.status) in
	0,0 | 1,125) ;;
	*) false ;;
	esac
	"$VALID" "$SCHEMA" <doctor.json
}

@test "a masked /proc is noted, and the workload's is empty, never the outer one (pain 3)" {
	need_userns
	cat >inside <<-'END'
		mount --bind /dev/null /proc/cmdline || exit 77
		"$BULKHEAD" doctor --json >doctor.json || exit 1
		"$BULKHEAD" run --quiet -- ls /proc >proc.list
	END
	run unshare -Urpfm --mount-proc sh inside
	[ "$status" -ne 77 ] || skip "nothing can be mounted over /proc here"
	[ "$status" -eq 0 ]
	output=$(cat doctor.json)
	[ "$(ask 'c["masked-proc"]["state"]')" = note ]
	[[ $(ask 'c["masked-proc"]["seen"]') == *"/proc/cmdline"* ]]
	"$VALID" "$SCHEMA" <doctor.json
	if [[ $(ask 't["sandbox"]["mechanisms"]["pidns"]["how"]') == *"/proc stays empty"* ]]; then
		[ ! -s proc.list ]
	else
		[ "$(grep -c '^[0-9]' proc.list)" -le 3 ]
	fi
}

@test "no access to cgroups: missing, with a command; partial is said, and --strict refuses" {
	need_userns
	# As a user in a mount namespace where every hierarchy is read-only.
	cat >inside <<-'END'
		for m in $(awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/mounts); do
			mount -o remount,bind,ro "$m" 2>/dev/null || exit 77
		done
		"$BULKHEAD" doctor --json >doctor.json
		echo $? >doctor.status
		"$BULKHEAD" doctor --strict >strict.out
		echo $? >strict.status
	END
	run unshare -Urm sh inside
	[ "$status" -ne 77 ] || skip "the cgroup mounts cannot be made read-only here"
	output=$(cat doctor.json)
	[ "$(cat doctor.status)" -eq 0 ]
	[ "$(ask 'c["cgroup"]["state"]')" = missing ]
	[ -n "$(ask 'c["cgroup"]["remedy"] or ""')" ]
	[ "$(ask '[g["state"] for g in t["sandbox"]["guarantees"] if g["id"] == "resources"][0]')" = partial ]
	[ "$(cat strict.status)" -eq 1 ]
	grep -q "not available: guarantee resources" strict.out
}

@test "no remedy says to be root or to switch something off" {
	"$BULKHEAD" doctor --json --without mountns --without landlock >out.json || [ $? -eq 1 ]
	run python3 -c 'import json, sys
d = json.load(sys.stdin)
texts = [c["remedy"] for c in d["checks"]] + [m["remedy"] for t in d["tiers"] for m in t.get("mechanisms", {}).values()]
print("\n".join(t for t in texts if t))' <out.json
	! grep -Ei 'run (it )?as root|sudo|disable|switch(ed)? off|privileged|turn off|unconfined' <<<"$output"
}

@test "the AppArmor profile parses" {
	parser=$(PATH=$PATH:/sbin:/usr/sbin command -v apparmor_parser) || skip "apparmor_parser is not installed"
	profile="$BULKHEAD_TREE/data/apparmor/bulkhead"
	[ -f "$profile" ] || skip "the copy of the tree has no data/"
	if [ ! -e /etc/apparmor.d/abi/4.0 ]; then
		# An older parser knows neither: the rest must parse.
		sed '/^abi /d;/^  userns,$/d' "$profile" >bulkhead
		profile=bulkhead
	fi
	[ -d /etc/apparmor.d/tunables ] || skip "AppArmor's tunables are not installed"
	run "$parser" -Q -K "$profile"
	echo "$output"
	[ "$status" -eq 0 ]
}
