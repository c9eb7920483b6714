"""A Slurm cluster of two nodes on this machine, without systemd: munged, slurmctld and two slurmd, each with a port of its
own. It needs root and Debian's slurm-wlm and munge. Everything runs in a PID namespace: it ends with the test, however
the test ends."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

INSIDE = "GPUHIST_TEST_PIDS"  # removed before gpuhist runs, which takes such variables for options
START_SECONDS = 60

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmctldPort={ports[0]}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
KillWait=2
MaxArraySize={max_array_size}
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 Gres=gpu:1 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 Gres=gpu:1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def reason_to_skip():
    """Why there can be no cluster on this machine; None if there can be one."""
    missing = [each for each in ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "setpriv", "unshare") if shutil.which(each) is None]
    if missing:
        return "not installed: " + " ".join(missing)
    if os.geteuid() != 0:
        return "not root"
    if subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        return "no PID namespace"
    return None


def enter_namespace():
    """Runs this test again as the first process of a PID namespace. The system ends all others when that one ends."""
    if os.environ.pop(INSIDE, None) is None:
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-B", *sys.argv])


def free_ports(count):
    """Ports that no process uses."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def environment_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # it has ended
        return []


def parent_of(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


class Cluster:
    def __init__(self, folder, max_array_size=1001):
        self.folder = folder
        self.daemons = {}
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        for name in ("state", "munge"):
            (folder / name).mkdir(parents=True)
        content = CONFIGURATION.format(host=socket.gethostname(), folder=folder, ports=free_ports(3), max_array_size=max_array_size)
        (folder / "slurm.conf").write_text(content)
        (folder / "gres.conf").write_text("Name=gpu File=/dev/null\n")
        self.start_munge()
        self.start("slurmctld", "slurmctld", "-D", "-i")
        for node in ("n1", "n2"):
            self.start(node, "slurmd", "-D", "-N", node)
        self.wait_until(lambda: self.ask("sinfo", "--noheader", "--format", "%T %D") == "idle 2")

    def start_munge(self):
        folder = self.folder / "munge"
        key = folder / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        for each in (folder, key):
            shutil.chown(each, "munge", "munge")
        folder.chmod(0o755)
        options = [f"--{name}={folder / name}" for name in ("socket", "pid-file", "log-file", "seed-file")]
        self.start("munged", "setpriv", "--reuid=munge", "--regid=munge", "--clear-groups", "munged", "--foreground", f"--key-file={key}", *options)
        self.wait_until((folder / "socket").exists)

    def start(self, name, *command):
        with (self.folder / f"{name}.out").open("w") as output:
            self.daemons[name] = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def ask(self, *command):
        ended = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return ended.stdout.strip()

    def wait_until(self, condition):
        deadline = time.monotonic() + START_SECONDS
        while not condition():
            ended = [name for name, daemon in self.daemons.items() if daemon.poll() is not None]
            if ended or time.monotonic() > deadline:
                raise AssertionError(f"the cluster does not start; ended: {ended}\n{self.logs()}")
            time.sleep(0.05)

    def logs(self):
        files = [*self.folder.glob("*.out"), *self.folder.glob("*.log"), self.folder / "munge" / "log-file"]
        return "\n".join(f"{each.name}: {each.read_text(errors='replace')[-1500:]}" for each in files if each.exists())

    def kill_daemon(self, node):
        """The steps of the node continue."""
        daemon = self.daemons.pop(node)
        daemon.kill()
        daemon.wait()

    def kill_node(self, node):
        """The daemon and all its steps, as when a machine fails."""
        self.kill_daemon(node)
        steps = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if f"SLURMD_NODENAME={node}".encode() in environment_of(pid)]
        keepers = {parent for parent in map(parent_of, steps) if parent and parent not in steps}  # slurmstepd: it would report the end
        for pid in [*keepers, *steps]:
            os.kill(pid, signal.SIGKILL)

    def stop(self):
        for daemon in self.daemons.values():
            daemon.kill()
            daemon.wait()
