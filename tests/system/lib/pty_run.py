"""pty_run.py SCENARIO PROGRAM [OPTION...]: bulkhead run in a terminal that this script plays; exit 0 if all is as it should be.

Every scenario is a function here; what it says on stdout is shown when the test fails."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

HANG_S = 20


class Session:
    """A program as the leader of a session on a terminal of 24 by 80; with shell=True a bash with job control."""

    def __init__(self, argv, environment=None, stdout=None):
        self.seen = b""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            if stdout is not None:
                os.dup2(stdout, 1)
            os.execve(argv[0], argv, {**os.environ, "TERM": "dumb", "PS1": "", **(environment or {})})
        self.resize(24, 80)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def settings(self):
        return termios.tcgetattr(self.master)

    def type(self, data):
        os.write(self.master, data)

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:  # EIO: the other side is closed
                data = b""
            self.seen += data
            return bool(data)
        return True

    def expect(self, text):
        """Wait until text was printed; what came up to it is used up."""
        end = time.monotonic() + HANG_S
        while text not in self.seen:
            if time.monotonic() > end or not self.read(0.2):
                raise SystemExit(f"{text!r} did not come; there was {self.seen!r}")
        before, self.seen = self.seen.split(text, 1)
        return before

    def finish(self):
        """Its exit status, as a shell has it, once it has ended."""
        end = time.monotonic() + HANG_S
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while select.select([self.master], [], [], 0)[0] and self.read(0):
                    pass
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
            self.read(0.1)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise SystemExit(f"it did not end; there was {self.seen!r}")


def check(what, holds):
    if not holds:
        raise SystemExit(f"does not hold: {what}")


INJECT = """
import ctypes, errno, fcntl, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]
def act(name, request, data):
    buf = ctypes.create_string_buffer(data)
    r = libc.ioctl(0, request, buf)
    print(name, "worked" if r == 0 else errno.errorcode[ctypes.get_errno()], flush=True)
act("sti", 0x5412, b"x")
act("sti-high", 0x5412 | 1 << 32, b"x")
act("linux", 0x541C, b"\\x03")
act("linux-high", 0x541C | 1 << 32, b"\\x03")
"""


def injection(run):
    s = Session([*run, "--", "/usr/bin/python3", "-c", INJECT])
    status = s.finish()
    check(f"the script ran: {s.seen!r}", status == 0)
    for name in (b"sti", b"sti-high", b"linux", b"linux-high"):
        check(f"{name} is refused: {s.seen!r}", name + b" EPERM" in s.seen)


def injection_control(run):
    """Without us, on a terminal of its own: does the act work, and does the filter's removal show it?"""
    s = Session(["/usr/bin/python3", "-c", INJECT])
    s.finish()
    with open("/proc/sys/dev/tty/legacy_tiocsti", encoding="utf-8") as f:
        allowed = f.read().strip() == "1"
    if not allowed:
        print("skip: this kernel refuses TIOCSTI by itself (dev.tty.legacy_tiocsti is 0)")
        raise SystemExit(77)
    check(f"works without us: {s.seen!r}", b"sti worked" in s.seen and b"sti-high worked" in s.seen)
    check(f"TIOCLINUX gets as far as the driver: {s.seen!r}", b"linux ENOTTY" in s.seen)
    s = Session([*run, "--without", "seccomp", "--waive", "syscalls", "--waive", "terminal", "--waive", "network",
                 "--waive", "memory", "--waive", "control-plane", "--waive", "kernel",
                 "--", "/usr/bin/python3", "-c", INJECT])
    s.finish()
    check(f"works without the filter: {s.seen!r}", b"sti worked" in s.seen)


def is_terminal(run):
    s = Session([*run, "--", "sh", "-c", "read go; test -t 0 && test -t 1 && test -t 2 && stty size && tty && echo all"])
    s.resize(33, 101)
    time.sleep(0.3)
    s.type(b"\n")
    s.expect(b"33 101")
    s.expect(b"all")
    check("exit 0", s.finish() == 0)


def resize(run):
    count = ("import os, signal, sys, time\nseen = []\n"
             "signal.signal(signal.SIGWINCH, lambda *a: seen.append(os.get_terminal_size(0)))\n"
             "print('ready', flush=True)\nend = time.monotonic() + 1.5\n"
             "while time.monotonic() < end: time.sleep(0.05)\n"
             "print(len(seen), 'times', seen and tuple(seen[-1]), flush=True)")
    s = Session([*run, "--", "/usr/bin/python3", "-c", count])
    s.expect(b"ready")
    s.resize(40, 132)
    s.expect(b"1 times (132, 40)")
    check("exit 0", s.finish() == 0)


def interrupt(run):
    tag = os.environ["TAG"]
    # exec: a dash that is just about to fork loses the signal, without us as well
    s = Session([*run, "--", "sh", "-c", f"echo ready; exec sleep {tag}"])
    s.expect(b"ready")
    before = time.monotonic()
    s.type(b"\x03")
    check("ended by SIGINT", s.finish() == 130)
    check("at once", time.monotonic() - before < 10)
    s = Session([*run, "--", "sh", "-c", "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.1; done"])
    s.expect(b"ready")
    s.type(b"\x03")
    s.expect(b"caught")
    check("its handler's exit code", s.finish() == 9)
    s = Session([*run, "--", "sh", "-c", f"echo ready; exec sleep {tag}"])
    s.expect(b"ready")
    s.type(b"\x1c")
    check("ended by SIGQUIT", s.finish() == 131)


def end_of_input(run):
    s = Session([*run, "--", "sh", "-c", "echo ready; cat; echo end"])
    s.expect(b"ready")
    s.type(b"line\n")
    s.expect(b"line\r\nline")
    s.type(b"\x04")
    s.expect(b"end")
    check("exit 0", s.finish() == 0)


def suspend(run):
    """Ctrl-Z under a shell with job control: the shell gets the terminal back as it was, and fg goes on."""
    s = Session(["/bin/bash", "--norc", "--noprofile", "--noediting", "-i"])
    s.type(b"stty -echo; echo shell; echo up\n")
    s.expect(b"\nup")
    before = s.settings()
    words = " ".join(f"'{w}'" for w in run)
    s.type(f"{words} -- sh -c 'echo ready; i=0; while test $i -lt 600; do sleep 0.1; i=$((i+1)); "
           "done'; echo status $?\n".encode())
    s.expect(b"ready")
    time.sleep(0.3)
    check("the terminal is raw while it runs", s.settings()[3] & termios.ICANON == 0)
    s.type(b"\x1a")
    s.expect(b"status 148")
    time.sleep(0.2)
    check("the shell's settings are back", s.settings()[3] & (termios.ICANON | termios.ISIG) == before[3] & (termios.ICANON | termios.ISIG))
    s.type(b"fg; echo status $?\n")
    time.sleep(0.7)
    s.type(b"\x03")
    s.expect(b"status 130")
    s.type(b"exit 3\n")
    check("the shell goes on", s.finish() == 3)


def suspend_alone(run):
    """Where nobody could continue us Ctrl-Z does nothing, as without us."""
    s = Session([*run, "--", "sh", "-c", "echo ready; read line; echo got $line"])
    s.expect(b"ready")
    s.type(b"\x1a")
    time.sleep(0.5)
    s.type(b"typed\n")
    s.expect(b"got typed")
    check("exit 0", s.finish() == 0)


def restored(run):
    """Settings are back after every kind of end."""
    s = Session(["/bin/sh"], {"PS1": "", "ENV": ""})
    s.type(b"stty -echo; echo up up\n")
    s.expect(b"\nup up")
    before = s.settings()
    words = " ".join(f"'{w}'" for w in run)
    for command, status in (("true", 0), ("sh -c 'exit 4'", 4), ("sh -c 'stty raw -echo; exit 5'", 5),
                            ("sh -c 'kill -9 $$'", 137), ("/no/such/file", 127)):
        s.type(f"{words} -- {command}; echo status $?\n".encode())
        s.expect(f"status {status}".encode())
        check(f"as before, after {command}", s.settings() == before)
    s.type(f"{words} --timeout 300ms --grace 0s -- sleep 9; echo status $?\n".encode())
    s.expect(b"status 124")
    check("as before, after a timeout", s.settings() == before)
    s.type(f"{words} --without seccomp -- true; echo status $?\n".encode())
    s.expect(b"status 125")
    check("as before, after a refusal", s.settings() == before)
    s.type(b"exit 0\n")
    s.finish()


def input_only(run):
    """A terminal as stdin, and a pipe as stdout: the pipe's bytes are nobody's carriage returns."""
    read_end, write_end = os.pipe()
    s = Session([*run, "--", "sh", "-c", "read line; printf 'a\\nb %s\\n' \"$line\"; test -t 0 && ! test -t 1"],
                stdout=write_end)
    os.close(write_end)
    time.sleep(0.3)
    s.type(b"typed\n")
    check("exit 0", s.finish() == 0)
    data = os.read(read_end, 1000)
    check(f"unchanged: {data!r}", data == b"a\nb typed\n")


def hang_up(run):
    """The terminal goes away: so does the run, with all that it started."""
    tag = os.environ["TAG"]
    s = Session([*run, "--", "sh", "-c", f"setsid sleep {tag} & echo ready; sleep {tag}"])
    s.expect(b"ready")
    os.close(s.master)
    end = time.monotonic() + HANG_S
    while os.waitpid(s.pid, os.WNOHANG)[0] == 0:
        check("it ends", time.monotonic() < end)
        time.sleep(0.05)
    check("nothing stays", subprocess.run(["pgrep", "-f", f"^sleep {tag}"], check=False).returncode == 1)


def session_is_own(run):
    """/dev/tty is the terminal of its own, not the caller's."""
    s = Session([*run, "--", "sh", "-c", "echo through >/dev/tty; exit 6"])
    s.expect(b"through")
    check("exit 6", s.finish() == 6)


def main():
    run = [sys.argv[2], "run", "--quiet", *sys.argv[3:]]
    globals()[sys.argv[1]](run)


main()
