# SPDX-License-Identifier: Apache-2.0
"""Finds a kernel with Soft-RoCE on the host, its modules in load order, and a form of it that boots fast."""

import dataclasses
import lzma
import os
import pathlib
import re
import struct

import cache
from failure import EXIT_NOTHING_TO_RUN_ON, Failure

NEEDED = ("rdma_rxe", "rdma_ucm", "veth", "9p", "9pnet_virtio", "virtio_pci", "overlay")
MODULES_ROOT = pathlib.Path("/lib/modules")
IMAGES_ROOT = pathlib.Path("/boot")


@dataclasses.dataclass(frozen=True)
class Kernel:
    version: str
    image: pathlib.Path
    modules: pathlib.Path

    def load_order(self, names: tuple[str, ...]) -> list[pathlib.Path]:
        """The files to load for `names`, each after what it depends on; what is built in is left out."""
        depends = self._dependencies()
        order: list[pathlib.Path] = []
        for name in names:
            if name in depends:
                # modules.dep names the nearest dependency first and the deepest last.
                for path in [*reversed(depends[name][1:]), depends[name][0]]:
                    if path not in order:
                        order.append(path)
        return order

    def lacks(self, names: tuple[str, ...]) -> list[str]:
        depends, built_in = self._dependencies(), self._built_in()
        return [name for name in names if name not in depends and name not in built_in]

    def _dependencies(self) -> dict[str, list[pathlib.Path]]:
        found = {}
        for line in (self.modules / "modules.dep").read_text().splitlines():
            first, _, rest = line.partition(":")
            found[module_name(first)] = [self.modules / path for path in (first, *rest.split())]
        return found

    def _built_in(self) -> set[str]:
        try:
            return {module_name(line) for line in (self.modules / "modules.builtin").read_text().splitlines()}
        except OSError:
            return set()


def module_name(path: str) -> str:
    return pathlib.PurePath(path).name.partition(".ko")[0].replace("-", "_")


def newest_first(version: str) -> list[tuple[int, int, str]]:
    """Sorts 6.10 behind 6.9; numbers before words."""
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", version)]


def find(version: str | None = None) -> Kernel:
    """The newest kernel that has everything, or the one that `version` names."""
    seen = []
    names = [path.name for path in MODULES_ROOT.glob("*")] if version is None else [version]
    for name in sorted(names, key=newest_first, reverse=True):
        kernel = Kernel(name, IMAGES_ROOT / f"vmlinuz-{name}", MODULES_ROOT / name)
        problem = problem_of(kernel)
        if problem is None:
            return kernel
        seen.append(f"\n  {name}: {problem}")
    raise Failure(
        EXIT_NOTHING_TO_RUN_ON,
        "no kernel with Soft-RoCE (rdma_rxe) is installed; on Debian: apt-get install linux-image-amd64"
        + (" (the kernels named cloud lack it). Looked at:" + "".join(seen) if seen else ""),
    )


def problem_of(kernel: Kernel) -> str | None:
    if not os.access(kernel.modules / "modules.dep", os.R_OK):
        return f"{kernel.modules}/modules.dep cannot be read (depmod {kernel.version} makes it)"
    if missing := kernel.lacks(NEEDED):
        return "lacks the modules " + " ".join(missing)
    if not os.access(kernel.image, os.R_OK):
        return f"{kernel.image} cannot be read"
    return None


def bootable(kernel: Kernel) -> pathlib.Path:
    """The kernel unpacked, which spares the emulated processor seconds of work; as it is where that cannot be done."""
    stamp = kernel.image.stat()
    path = cache.path("kernel", kernel.version, stamp.st_mtime_ns, stamp.st_size)
    if not path.exists():
        unpacked = unpack(kernel.image.read_bytes())
        if unpacked is None:
            return kernel.image
        cache.store(path, unpacked)
    return path


def unpack(image: bytes) -> bytes | None:
    """The ELF file within a bzImage that was compressed with xz, which is Debian's way; None for other images."""
    # The header of x86's boot protocol: its magic number, the length of the real-mode part in sectors, and where the
    # compressed kernel lies behind that part.
    if image[0x202:0x206] != b"HdrS":
        return None
    sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    begin = (sectors + 1) * 512 + offset
    try:
        # A size of four bytes follows the xz stream, which the decompressor leaves alone.
        unpacked = lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(image[begin : begin + length])
    except lzma.LZMAError:
        return None
    return unpacked if unpacked.startswith(b"\x7fELF") else None
