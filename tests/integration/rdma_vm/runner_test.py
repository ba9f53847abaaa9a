# SPDX-License-Identifier: Apache-2.0
"""Tests of ./dev rdma-vm. Booting takes longest, so each class boots one machine at most and looks at all it did."""

import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
RUNNER = [sys.executable, "-B", str(HERE.parents[1] / "rdma_vm")]


def run(*arguments: str, **more) -> subprocess.CompletedProcess:
    return subprocess.run([*RUNNER, *arguments], capture_output=True, text=True, check=False, **more)


class Commands(unittest.TestCase):
    """One machine with one device runs guest_commands.sh."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.share = pathlib.Path(folder.name)
        cls.directory = HERE
        command = [*RUNNER, "--share", folder.name, "--env", "GREETING=good morning, 'you'", "--",
                   str(HERE / "guest_commands.sh"), folder.name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cls.directory,
                              env={**os.environ, "INHERITED": "from the caller"}) as process:
            cls.first_line = process.stdout.readline()
            (cls.share / "answer").touch()
            cls.rest, cls.errors = process.communicate()
        cls.exit_code = process.returncode

    def written(self, name: str) -> str:
        return (self.share / name).read_text()

    def test_the_exit_code_is_the_commands(self):
        self.assertEqual(self.exit_code, 7, self.errors)

    def test_output_arrives_while_the_command_runs(self):
        self.assertEqual((self.first_line, self.rest), ("begun\n", ""))

    def test_the_two_outputs_stay_apart(self):
        self.assertEqual(self.errors, "to the other one\n")

    def test_the_command_begins_here_with_this_environment(self):
        lines = [str(self.directory), "good morning, 'you'", "from the caller", "one-device"]
        self.assertEqual(self.written("surroundings").splitlines(), lines)

    def test_only_what_is_written_to_a_shared_folder_stays(self):
        self.assertEqual(self.written("overlay"), "only here\n")
        self.assertFalse((HERE / "written_in_the_guest").exists())

    def test_the_device_is_there_and_its_port_is_active(self):
        self.assertRegex(self.written("devinfo"), r"hca_id:\s+rxe0(.|\n)*PORT_ACTIVE(.|\n)*active_mtu:\s+4096")

    def test_two_processes_ping_each_other(self):
        self.assertEqual(self.written("pingpong.codes"), "client 0\nserver 0\n", self.written("pingpong.client"))


class Wire(unittest.TestCase):
    """One machine with two devices runs guest_wire.sh."""

    @classmethod
    def setUpClass(cls):
        result = run("--timeout", "150", "--verbose", "--network", "wire", "--", str(HERE / "guest_wire.sh"))
        cls.lines = result.stdout.splitlines()
        cls.everything = result.stdout + result.stderr

    def expect(self, *lines: str):
        for line in lines:
            self.assertIn(line, self.lines, self.everything)

    def test_what_goes_between_the_devices_crosses_the_wire(self):
        self.expect("plain client 0", "plain server 0", "plain crossed the wire")

    def test_a_connection_survives_packets_that_get_lost(self):
        self.expect("lossy client 0", "lossy crossed the wire", "lossy lost packets")

    def test_a_wire_that_is_taken_down_takes_the_ports_down(self):
        states = [line for line in self.lines if line.startswith("both ports: ")]
        self.assertEqual(states, [f"both ports: {state}" for state in ("4: ACTIVE", "1: DOWN", "4: ACTIVE")], self.everything)

    def test_the_connection_manager_reaches_the_other_end(self):
        self.expect("rping reached 10.77.0.2", "rping reached fd77::2")


class Endings(unittest.TestCase):
    """Runs that end otherwise than with the command; none waits for a machine to boot."""

    @classmethod
    def setUpClass(cls):
        # Runs that end like this keep their folder, or cannot remove it.
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.environment = {**os.environ, "TMPDIR": folder.name}

    def begin(self, *options: str):
        """A runner whose machine has begun to boot, and a descriptor of the machine's process."""
        process = subprocess.Popen([*RUNNER, "--verbose", *options, "--", "true"], stderr=subprocess.PIPE, text=True,
                                   env=self.environment)
        self.addCleanup(process.stderr.close)
        line = process.stderr.readline()
        self.assertIn("process ", line)
        machine = os.pidfd_open(int(line.partition("process ")[2].partition(",")[0]))
        self.addCleanup(os.close, machine)
        return process, machine

    def expect_gone(self, machine: int):
        readable, _, _ = select.select([machine], [], [], 60)
        self.assertTrue(readable, "the machine still runs")

    def test_a_time_out_ends_the_machine(self):
        with tempfile.TemporaryDirectory() as logs:
            result = run("--timeout", "1", "--verbose", "--logs", logs, "--", "true")
        self.assertEqual(result.returncode, 124)
        self.assertIn("the time is over after 1 s; the guest was at the step: booting", result.stderr)
        process_id = int(result.stderr.partition("process ")[2].partition(",")[0])
        self.assertFalse(pathlib.Path(f"/proc/{process_id}").exists())

    def test_a_signal_to_the_runner_ends_the_machine(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number):
                process, machine = self.begin()
                process.send_signal(number)
                self.assertEqual(process.wait(), 128 + number)
                self.expect_gone(machine)

    def test_a_killed_runner_leaves_no_machine(self):
        process, machine = self.begin()
        process.kill()
        process.wait()
        self.expect_gone(machine)

    def test_a_dead_machine_is_told_from_a_failed_command(self):
        process, machine = self.begin()
        signal.pidfd_send_signal(machine, signal.SIGKILL)
        _, errors = process.communicate()
        self.assertEqual(process.returncode, 125)
        self.assertIn("the guest is dead", errors)

    def test_a_machine_that_hangs_while_booting_is_started_again(self):
        process, machine = self.begin("--silence", "1")
        signal.pidfd_send_signal(machine, signal.SIGSTOP)
        self.assertIn("starting it again", process.stderr.readline())
        self.assertIn("process ", process.stderr.readline())
        self.expect_gone(machine)
        process.terminate()
        process.wait()

    def test_without_a_kernel_the_package_is_named(self):
        result = run("--kernel", "0.0-none", "--", "true")
        self.assertEqual(result.returncode, 77)
        self.assertIn("linux-image-amd64", result.stderr)

    def test_a_wrong_command_line_is_refused(self):
        for arguments in ([], ["--cpus", "0", "--", "true"], ["--env", "no value", "--", "true"],
                          ["--share", "/no/such/folder", "--", "true"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(run(*arguments).returncode, 2)


if __name__ == "__main__":
    unittest.main()
