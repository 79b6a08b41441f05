"""Members of a .deb archive, read in memory: nothing is unpacked."""

import gzip
import os
import re
import subprocess
import tarfile
import zlib
from typing import IO

from realformer_runtime.command_line import UserError

# Ten times what the largest member that is read has. Members are held in memory.
LARGEST_MEMBER = 1 << 28  # bytes


def read_members(deb: str, path_pattern: str) -> dict[str, bytes]:
    """Return {absolute path: content} of the files in `deb` whose path matches `path_pattern`.

    Only regular files are read, never links. Raises UserError where `deb` cannot be read, or a
    member has more than LARGEST_MEMBER bytes.
    """
    command = ["dpkg-deb", "--fsys-tarfile", deb]
    try:
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process,
            tarfile.open(fileobj=process.stdout, mode="r|") as archive,
        ):
            contents = {
                member.name.lstrip("."): read_bounded(archive.extractfile(member), member.name)
                for member in archive
                if member.isfile() and re.search(path_pattern, member.name)
            }
            process.stdout.read()
        if process.returncode:
            raise tarfile.TarError(f"dpkg-deb ended with {process.returncode}")
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        name = os.path.basename(deb)
        raise UserError(f"cannot read {name} ({error}): delete {deb} and run this again") from error
    return contents


def read_bounded(file: IO[bytes], name: str) -> bytes:
    """Return the content of a member, decompressed if its name ends with .gz.

    Raises tarfile.TarError where it is absurdly large.
    """
    if name.endswith(".gz"):
        file = gzip.GzipFile(fileobj=file)
    content = file.read(LARGEST_MEMBER + 1)
    if len(content) > LARGEST_MEMBER:
        raise tarfile.TarError(f"{name} has more than {LARGEST_MEMBER >> 20} MB")
    return content
