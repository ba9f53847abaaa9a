# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the consumer project outside the tree, one way per run.

build_consumer.py <package|pkg-config|subdirectory> <Weft's source> <Weft's build> <work folder> <compiler> [cmake options]
"""

import os
import pathlib
import shutil
import subprocess
import sys

OF_THE_LANGUAGE = {"libc", "libm", "libgcc_s", "libstdc++", "libpthread", "libdl", "ld-linux-x86-64", "ld-linux-aarch64"}
PROJECT = pathlib.Path(__file__).resolve().parent / "project"
MIXED = "compiled_with_GLIBCXX_DEBUG_as_the_weft_library_was_not"


def run(*command: object, **options: object) -> str:
    words = [str(word) for word in command]
    print("+", " ".join(words), flush=True)
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, **options)
    if done.returncode:
        print(done.stdout)
        sys.exit(f"exit code {done.returncode}")
    return done.stdout


def install(weft_build: str, work: pathlib.Path) -> pathlib.Path:
    prefix = work / "prefix"
    run("cmake", "--install", weft_build, "--prefix", prefix)
    return prefix


def with_cmake(work: pathlib.Path, compiler: str, *options: str) -> pathlib.Path:
    # The build goes on where an earlier one ended only as a subdirectory, where it builds all of Weft.
    print(run("cmake", "-G", "Ninja", "-S", PROJECT, "-B", work, f"-DCMAKE_CXX_COMPILER={compiler}", *options))
    print(run("cmake", "--build", work, "--target", "consumer", "-j", "2"))
    return work / "consumer"


def needed_by(program: pathlib.Path) -> list[str]:
    """Names of the shared objects that the program itself needs, without their versions."""
    lines = run("readelf", "--dynamic", "--wide", program).splitlines()
    return [line.split("[")[1].split(".so")[0] for line in lines if "(NEEDED)" in line]


def with_pkg_config(prefix: pathlib.Path, work: pathlib.Path, compiler: str) -> pathlib.Path:
    (description,) = prefix.rglob("weft.pc")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(description.parent)}
    flags = run("pkg-config", "--cflags", "--libs", "weft", env=environment).split()
    program = work / "consumer"
    command = [compiler, "-std=c++20", PROJECT / "main.cpp", "-o", program, *flags]
    told_of_other_containers(command)
    run(*command)
    static = work / "consumer_static"
    flags = run("pkg-config", "--static", "--cflags", "--libs", "weft", env=environment).split()
    run(compiler, "-std=c++20", "-static", PROJECT / "main.cpp", "-o", static, *flags)
    if needed := needed_by(static):
        sys.exit(f"{static} is static, and needs shared objects: {needed}")
    return program


def told_of_other_containers(command: list[object]) -> None:
    """A program with _GLIBCXX_DEBUG, which the library was compiled without, does not link; the linker names the reason."""
    words = [str(word) for word in [*command, "-D_GLIBCXX_DEBUG"]]
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode == 0 or MIXED not in done.stdout:
        sys.exit(f"a program with _GLIBCXX_DEBUG links, or nothing names {MIXED}:\n{done.stdout}")


def main(way: str, source: str, weft_build: str, work_name: str, compiler: str, *options: str) -> int:
    work = pathlib.Path(work_name)
    if way == "subdirectory":
        program = with_cmake(work, compiler, f"-DWEFT_SOURCE={source}", *options)
    else:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        prefix = install(weft_build, work)
        if way == "package":
            program = with_cmake(work / "build", compiler, f"-DCMAKE_PREFIX_PATH={prefix}", *options)
        else:
            program = with_pkg_config(prefix, work, compiler)
    # It calls over tcp://. Libraries of other transports are loaded on first use.
    if others := set(needed_by(program)) - OF_THE_LANGUAGE:
        sys.exit(f"{program} needs shared objects beside the ones of the language: {others}")
    for each in (program, program.with_name("consumer_services"), program.with_name("consumer_static")):
        if each == program or each.exists():
            print(run(each, timeout=60))
    return 0


sys.exit(main(*sys.argv[1:]))
