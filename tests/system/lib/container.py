#!/usr/bin/python3
"""Run a command in a container without namespaces of its own to make: no capability, no_new_privs, a seccomp profile that
refuses namespaces and mounts as Docker's does.  Root only; needs runc.

  container.py UID SHARED [--allow-clone3] COMMAND...     SHARED is mounted on /t, writable

Container and bundle are removed whatever happens."""
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile

REFUSED = ("unshare setns mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick open_tree move_mount mount_setattr "
           "bpf perf_event_open userfaultfd keyctl add_key request_key open_by_handle_at io_uring_setup").split()


def rule(names, action="SCMP_ACT_ERRNO", errno=1, args=()):
    return {"names": names, "action": action, "errnoRet": errno, "args": list(args)}


def bind(source, target, *options):
    return {"destination": target, "type": "bind", "source": source, "options": ["rbind", "nosuid", *options]}


def configuration(root, uid, shared, clone3, command):
    # Docker answers clone3 with ENOSYS: its flags stand in memory.
    refused = [rule(REFUSED)] + [rule(["clone"], args=[{"index": 0, "value": 1 << bit, "valueTwo": 1 << bit,
                                                        "op": "SCMP_CMP_MASKED_EQ"}]) for bit in (17, 25, 26, 27, 28, 29, 30)]
    if not clone3:
        refused.append(rule(["clone3"], errno=38))
    tmpfs = {"type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777"]}
    return {
        "ociVersion": "1.0.2",
        "process": {"terminal": False, "user": {"uid": uid, "gid": uid}, "args": command, "cwd": "/t",
                    "env": ["PATH=/usr/bin:/bin", "HOME=/t", "SECRET_ENV=of-the-container"],
                    "capabilities": {}, "noNewPrivileges": True},
        "root": {"path": root, "readonly": True},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
            {"destination": "/dev/pts", "type": "devpts", "source": "devpts",
             "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]},
            {"destination": "/dev/shm", **tmpfs},
            {"destination": "/dev/mqueue", "type": "mqueue", "source": "mqueue", "options": ["nosuid", "nodev"]},
            {"destination": "/tmp", **tmpfs}, {"destination": "/var/tmp", **tmpfs},
            bind("/usr", "/usr", "ro"), bind("/etc", "/etc", "ro"), bind(shared, "/t", "rw"),
        ],
        "linux": {
            "namespaces": [{"type": t} for t in ("pid", "network", "ipc", "uts", "mount")],
            "seccomp": {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": refused,
                        "architectures": ["SCMP_ARCH_" + platform.machine().upper()]},
        },
    }


def main():
    uid, shared, command = int(sys.argv[1]), os.path.realpath(sys.argv[2]), sys.argv[3:]
    clone3 = command[0] == "--allow-clone3"
    bundle = tempfile.mkdtemp(prefix="bulkhead-container.")
    name = os.path.basename(bundle)
    try:
        os.chmod(bundle, 0o755)
        root = os.path.join(bundle, "rootfs")
        for folder in ("proc", "dev", "sys", "usr", "etc", "tmp", "var/tmp", "t", "run"):
            os.makedirs(os.path.join(root, folder))
        for folder in ("tmp", "var/tmp"):
            os.chmod(os.path.join(root, folder), 0o1777)  # runc gives a tmpfs the mode of what it covers
        for link in ("bin", "sbin", "lib", "lib32", "lib64"):
            if os.path.islink("/" + link):
                os.symlink(os.readlink("/" + link), os.path.join(root, link))
        with open(os.path.join(bundle, "config.json"), "w", encoding="utf-8") as f:
            json.dump(configuration(root, uid, shared, clone3, command[clone3:]), f)
        return subprocess.run(["timeout", "-k", "5", "200", "runc", "run", "--bundle", bundle, name], stdin=subprocess.PIPE,
                              check=False).returncode
    finally:
        subprocess.run(["runc", "delete", "--force", name], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(bundle, ignore_errors=True)


sys.exit(main())
