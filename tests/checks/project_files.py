# SPDX-License-Identifier: Apache-2.0
"""Which files are the project's: those git tracks, or all of them where there is no git."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_OURS = {"build", ".git", ".cache", "__pycache__"}


def project_files() -> list[pathlib.Path]:
    """Every file of the project, relative to ROOT, sorted."""
    try:
        tracked = subprocess.run(
            ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
        ).stdout.decode()
        names = [pathlib.Path(name) for name in tracked.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        found = (path.relative_to(ROOT) for path in ROOT.rglob("*"))
        names = [path for path in found if not NOT_OURS.intersection(path.parts)]
    return sorted(path for path in names if (ROOT / path).is_file())


def cpp_files() -> list[pathlib.Path]:
    return [path for path in project_files() if path.suffix in (".cpp", ".hpp")]


def read(path: pathlib.Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")
