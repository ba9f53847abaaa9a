# SPDX-License-Identifier: Apache-2.0
"""The guest's first file system: busybox, the modules that reach the host's files, and guest/init.

It does not depend on the command, so one serves all runs until the kernel, busybox or one of these sources changes.
"""

import lzma
import pathlib
import shutil

import cache
from failure import EXIT_NOTHING_TO_RUN_ON, Failure
from kernel import Kernel

HERE = pathlib.Path(__file__).resolve().parent
INIT = HERE / "guest" / "init"
# With these the guest sees the host's files; modprobe finds every other module there.
FIRST_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
FOLDERS = ("bin", "dev", "host", "modules", "proc", "root", "sys", "writes")


def path_for(kernel: Kernel) -> pathlib.Path:
    """The path of the archive for that kernel, made when there is none yet."""
    busybox = find_busybox()
    modules = kernel.load_order(FIRST_MODULES)
    stamps = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in [busybox, *modules]]
    sources = [INIT.read_bytes(), pathlib.Path(__file__).read_bytes()]
    path = cache.path("initramfs", kernel.version, stamps, sources)
    if not path.exists():
        cache.store(path, archive(busybox, modules))
    return path


def find_busybox() -> pathlib.Path:
    found = shutil.which("busybox", path="/bin:/usr/bin:/usr/local/bin")
    if found is None:
        raise Failure(EXIT_NOTHING_TO_RUN_ON, "there is no busybox; on Debian: apt-get install busybox-static")
    # A program that names an interpreter needs libraries, and there are none yet where it runs.
    if b"/ld-linux" in pathlib.Path(found).read_bytes()[:4096]:
        raise Failure(EXIT_NOTHING_TO_RUN_ON, f"{found} needs libraries; on Debian: apt-get install busybox-static")
    return pathlib.Path(found)


def archive(busybox: pathlib.Path, modules: list[pathlib.Path]) -> bytes:
    files = {"init": INIT.read_bytes(), "bin/busybox": busybox.read_bytes()}
    names = []
    for number, module in enumerate(modules):
        # The shell's pattern sorts by name, and so the names begin with the place in the load order.
        names.append(f"modules/{number:02}-{module.name.partition('.ko')[0]}.ko")
        files[names[-1]] = module_bytes(module)
    entries = [entry(number, folder, 0o040755) for number, folder in enumerate(FOLDERS, 1)]
    entries += [entry(100 + number, name, 0o100755, data) for number, (name, data) in enumerate(files.items())]
    return b"".join([*entries, entry(0, "TRAILER!!!", 0)])


def module_bytes(module: pathlib.Path) -> bytes:
    data = module.read_bytes()
    if module.suffix == ".xz":
        return lzma.decompress(data)
    if module.suffix != ".ko":
        raise Failure(EXIT_NOTHING_TO_RUN_ON, f"{module}: a module compressed this way cannot be unpacked here")
    return data


def entry(inode: int, name: str, mode: int, data: bytes = b"") -> bytes:
    """One member of an archive in cpio's format newc: a magic number, 13 numbers of 8 hexadecimal digits, name, data."""
    encoded = name.encode() + b"\0"
    #          inode  mode  user group links time  size    device  of the node  name          checksum
    numbers = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
    header = b"070701" + b"".join(b"%08X" % number for number in numbers)
    return padded(header + encoded) + padded(data)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
