#!/usr/bin/env bats
# What a workload sees of the host's files, what it may write, and to whom its results belong.

bats_require_minimum_version 1.5.0

setup() {
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR" || return 1
	top=$PWD
	mounted=()
}

teardown() {
	for at in "${mounted[@]}"; do umount -l "$at" 2>/dev/null || true; done
	chmod -R u+rwX "$top" 2>/dev/null || true
}

sandbox() {
	local flags=()
	if [ "$1" = -127 ]; then flags=("$1") && shift; fi
	run "${flags[@]}" "$BULKHEAD" run --quiet "$@"
	echo "$output"
}

ok() { # STATUS, or the output
	[ "$status" -eq "${1:-0}" ]
}

only_as_root() {
	[ "$EUID" -eq 0 ] || skip "needs root"
}

# --- links -----------------------------------------------------------------------------------------------------------

make_matrix() {
	mkdir -p real/dir outside
	echo content >real/file
	echo content >real/dir/file
	echo content >outside/file
	ln -s file real/leaf-file
	ln -s dir real/leaf-dir
	ln -s real parent
	ln -s /nonexistent/x dangling
	ln -s "$top/outside" real/outward-dir
	ln -s "$top/outside/file" real/outward-file
}

@test "links: every kind of file and directory, read-only and writable" {
	make_matrix
	for kind in ro rw; do
		for path in real/file real/leaf-file parent/file parent/leaf-file real/outward-file; do
			sandbox --$kind "$top/$path" -- cat "$top/$path"
			[ "$output" = content ]
			sandbox --$kind "$path" -- sh -c 'echo content >"$1"' sh "$top/$path"
			if [ $kind = rw ]; then ok; else [[ $output == *"Read-only file system"* || $output == *"ermission denied"* ]]; fi
		done
		for path in real/dir real/leaf-dir parent/dir parent/leaf-dir real/outward-dir; do
			sandbox --$kind "$top/$path" -- cat "$top/$path/file"
			[ "$output" = content ]
			sandbox --$kind "$top/$path" -- touch "$top/$path/new"
			if [ $kind = rw ]; then ok; rm "$path/new"; else [ "$status" -ne 0 ]; fi
		done
	done
	[ "$(cat real/file real/dir/file outside/file | sort -u)" = content ]
}

@test "links: a dangling one is refused by name, a granted directory that holds one is not" {
	make_matrix
	for kind in ro rw; do
		sandbox --$kind dangling -- true
		ok 125
		[[ $output == *"--$kind dangling: a link to /nonexistent/x, which is not there"* ]]
	done
	ln -s /nonexistent/y real/dangling
	sandbox --ro real -- true
	ok
	sandbox --ro real -- cat "$top/real/outward-file" # a link leads nowhere that was not granted
	[ "$status" -ne 0 ]
}

# --- programs --------------------------------------------------------------------------------------------------------

@test "programs: scripts, /usr/bin/env, and a missing interpreter by name" {
	printf '#!/bin/sh\necho script\n' >script
	printf '#!/usr/bin/env sh\necho env\n' >by-env
	printf '#!/bin/sh\r\necho no\r\n' >crlf
	printf '#!/nope/interpreter\n' >missing
	chmod 755 script by-env crlf missing
	sandbox --ro "$top" -- "$top/script"
	[ "$output" = script ]
	sandbox --ro "$top" -- "$top/by-env"
	[ "$output" = env ]
	sandbox -127 --ro "$top" -- "$top/missing"
	ok 127
	[[ $output == *"/nope/interpreter"* ]]
	sandbox -127 --ro "$top" -- "$top/crlf"
	ok 127
	[[ $output == *"interpreter /bin/sh? is not there"* ]]
	sandbox -127 -- no-such-command-at-all
	ok 127
}

@test "programs: an ELF file whose loader is not there" {
	echo 'int main(void) { return 0; }' >a.c
	cc -o a a.c -Wl,--dynamic-linker=/nope/ld.so
	sandbox -127 --ro "$top/a" -- "$top/a"
	ok 127
	[[ $output == *"/nope/ld.so"* ]]
}

# --- mounts ----------------------------------------------------------------------------------------------------------

@test "nothing is made on the host to hold a mount" {
	mkdir -p repo/sub
	echo x >repo/sub/file
	before=$(find repo | sort)
	"$BULKHEAD" run --quiet --rw "$top/repo" --ro "$top/repo/sub/file" --in "$top/repo/sub/file" -- sh -c 'echo; sleep 30' >started 3>&- &
	pid=$!
	until [ -s started ]; do sleep 0.02; done
	[ "$(find repo | sort)" = "$before" ]
	kill -KILL $pid
	wait $pid || true
	[ "$(find repo | sort)" = "$before" ]
	sandbox --ro "$top/repo" --out "$top/repo" -- true
	[ "$(find repo | sort)" = "$before" ]
}

@test "read-only reaches mounts below" {
	only_as_root
	mkdir -p m/sub
	mount -t tmpfs none m/sub
	mounted+=("$top/m/sub")
	for _ in 1 2 3; do
		sandbox --ro "$top/m" -- touch "$top/m/sub/x"
		[ "$status" -ne 0 ]
		[[ $output == *"Read-only file system"* ]]
	done
	touch m/sub/control
	sandbox --ro "$top/m" -- ls "$top/m/sub"
	[ "$output" = control ]
}

@test "starts while another process mounts and unmounts" {
	only_as_root
	mkdir churn
	(while :; do mount -t tmpfs none churn && umount churn; done) 3>&- 2>/dev/null &
	churner=$!
	failed=0
	for _ in $(seq 200); do
		"$BULKHEAD" run --quiet -- true 2>>errors || failed=$((failed + 1))
	done
	kill "$churner"
	wait "$churner" || true
	umount churn 2>/dev/null || true
	cat errors
	[ "$failed" -eq 0 ]
}

@test "a rename between two granted directories works" {
	mkdir a b
	echo x >a/x
	for plan in "" "--without mountns" "--without landlock"; do
		# one grant, as a mount is a boundary for rename(2) whoever asks
		# shellcheck disable=SC2086
		sandbox $plan --rw "$top" -- python3 -c 'import os, sys; os.chdir(sys.argv[1]); os.mkdir("c"); os.rename("a/x", "c/x"); os.rename("c/x", "a/x"); os.rmdir("c")' "$top"
		ok
	done
	cat a/x
}

# --- what programs expect --------------------------------------------------------------------------------------------

@test "shared memory, time zone, localhost, fonts" {
	sandbox -- python3 -c 'import multiprocessing as m; m.Lock(); print("lock")'
	[ "$output" = lock ]
	sandbox -- date +%Z
	[ "$output" = "$(env -u TZ date +%Z)" ]
	sandbox -- getent hosts localhost
	ok
	[[ $output == *localhost* ]]
	[ -n "$(fc-list 2>/dev/null | head -1)" ] || skip "no fonts here"
	sandbox -- sh -c 'fc-list | wc -l'
	[ "${lines[-1]}" -gt 0 ]
}

@test "dangling localtime and resolv.conf harm nobody" {
	only_as_root
	run unshare -m sh -c 'mkdir etc && cp -a /etc/passwd /etc/group etc && ln -s /nonexistent etc/localtime &&
		ln -s /nonexistent etc/resolv.conf && mount --bind etc /etc && exec "$0" run --quiet --net host -- echo fine' "$BULKHEAD"
	echo "$output"
	[ "$output" = fine ]
}

# --- grants ----------------------------------------------------------------------------------------------------------

@test "--in, --out and the working directory" {
	echo input >in.txt
	mkdir results
	sandbox --in in.txt --out results -- sh -c 'pwd; cat in.txt; echo result >out/r; echo x >in.txt'
	[ "${lines[0]}" = /work ]
	[ "${lines[1]}" = input ]
	[ "$(cat in.txt)" = input ]
	[ "$(cat results/r)" = result ]
	mkdir -p granted/below
	cd granted/below
	sandbox --rw "$top/granted" -- sh -c 'pwd; touch made'
	[ "$output" = "$top/granted/below" ]
	[ -e made ]
	sandbox --ro "$top/results" -- pwd
	[ "$output" = /work ]
	sandbox --in "$top/results" -- true
	ok 125
	sandbox --out "$top/in.txt" -- true
	ok 125
}

belongs_to_us() {
	[ -z "$(find "$1" ! -uid "$EUID")" ]
}

@test "results belong to the caller, with hostile modes and failures too" {
	for plan in "" "--without mountns" "--without landlock"; do
		mkdir results
		out=out
		[ "$plan" = "--without mountns" ] && out=$top/results
		# shellcheck disable=SC2086
		sandbox $plan --out "$top/results" -- sh -c "mkdir -p $out/d; echo hi >$out/d/f; chmod 000 $out/d/f $out/d; exit 3"
		ok 3
		belongs_to_us results
		# where the host's namespaces are shared no mode can be changed, hostile or not
		[ "$plan" = "--without mountns" ] || [ "$(stat -c %a results/d)" = 0 ]
		chmod 700 results/d
		chmod 600 results/d/f
		[ "$(cat results/d/f)" = hi ]
		rm -r results
	done
	mkdir results
	sandbox --timeout 300ms --grace 100ms --out "$top/results" -- sh -c 'echo x >out/x; sleep 60'
	ok 124
	belongs_to_us results
	[ "$(cat results/x)" = x ]
}

@test "--rootfs: a root of the caller's own" {
	mkdir -p root/bin root/etc root/tmp
	cp /bin/sh root/bin/sh
	for lib in $(ldd /bin/sh | grep -o '/[^ ]*'); do
		mkdir -p "root$(dirname "$lib")"
		cp -L "$lib" "root$lib"
	done
	echo image >root/etc/marker
	chmod -R a+rX root
	sandbox --rootfs "$top/root" -- /bin/sh -c 'read -r l </etc/marker; echo "$l"; [ -e /usr/bin/python3 ] && echo host; echo x >/tmp/x && echo tmp; echo x >/etc/new'
	[ "${lines[0]}" = image ]
	[[ $output != *host* ]]
	[[ $output == *tmp* ]]
	[ ! -e root/etc/new ]
	[ -z "$(ls -A root/tmp)" ]
	sandbox --rootfs "$top/nowhere" -- true
	ok 125
	[[ $output == *"--rootfs $top/nowhere"* ]]
}

@test "two runs at once have different host uids and no view of each other" {
	only_as_root
	for n in 1 2; do
		"$BULKHEAD" run --quiet -- sh -c 'echo secret >/tmp/mine; echo; exec sleep 60' >started-$n 3>&- &
		pids[n]=$!
		until [ -s started-$n ]; do sleep 0.02; done
	done
	uids=$(for n in 1 2; do
		for p in $(pgrep -P "$(pgrep -P "${pids[n]}" -x bulkhead-init | head -1)"); do stat -c %u "/proc/$p"; done
	done | sort -u)
	echo "uids: $uids"
	sandbox -- sh -c 'cat /tmp/mine 2>&1; ls /proc | grep -c "^[0-9]"'
	kill "${pids[@]}"
	wait || true
	[ "$(wc -l <<<"$uids")" -eq 2 ]
	[[ $output != *secret* ]]
	[ "${lines[-1]}" -le 4 ]
	run ! grep -qx 0 <<<"$uids"
}
