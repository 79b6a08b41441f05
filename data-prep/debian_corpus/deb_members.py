"""Members of a .deb archive, read in memory: nothing is unpacked."""

from __future__ import annotations

import gzip
import io
import os
import re
import subprocess
import tarfile
import zlib

from realformer_runtime.command_line import UserError

# Ten times what the largest member that is read has. Members are held in memory.
LARGEST_MEMBER = 1 << 28  # bytes


def read_members(deb: str, path_pattern: str) -> dict[str, bytes]:
    """Return {absolute path: content} of the files in `deb` whose path matches `path_pattern`.

    Only regular files are read, never links. Contents of .gz files are decompressed. Raises
    UserError where `deb` cannot be read, or a member has more than LARGEST_MEMBER bytes.
    """
    pattern = re.compile(path_pattern)
    contents = {}
    command = ["dpkg-deb", "--fsys-tarfile", deb]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                for member in archive:
                    if member.isfile() and pattern.search(member.name):
                        content = read_bounded(archive.extractfile(member), member.name)
                        if member.name.endswith(".gz"):
                            unpacked = gzip.GzipFile(fileobj=io.BytesIO(content))
                            content = read_bounded(unpacked, member.name)
                        contents[member.name.lstrip(".")] = content
        except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
            raise UserError(_message(deb, str(error))) from error
        process.stdout.read()
    if process.returncode:
        raise UserError(_message(deb, f"dpkg-deb ended with {process.returncode}"))
    return contents


def read_bounded(file: io.BufferedIOBase, name: str) -> bytes:
    """Return the content of a member. Raises tarfile.TarError where it is absurdly large."""
    content = file.read(LARGEST_MEMBER + 1)
    if len(content) > LARGEST_MEMBER:
        raise tarfile.TarError(f"{name} has more than {LARGEST_MEMBER >> 20} MB")
    return content


def _message(deb: str, reason: str) -> str:
    return f"cannot read {os.path.basename(deb)} ({reason}): delete {deb} and run this again"
