"""Members of a .deb archive, read in memory: nothing is unpacked."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import tarfile

from .errors import PreparationError


def read_members(deb: str, path_pattern: str) -> dict[str, bytes]:
    """Return {absolute path: content} of the files in `deb` whose path matches `path_pattern`.

    Contents of .gz files are decompressed. Raises PreparationError where `deb` cannot be read.
    """
    pattern = re.compile(path_pattern)
    contents = {}
    command = ["dpkg-deb", "--fsys-tarfile", deb]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                for member in archive:
                    if member.isfile() and pattern.search(member.name):
                        content = archive.extractfile(member).read()
                        if member.name.endswith(".gz"):
                            content = gzip.decompress(content)
                        contents[member.name.lstrip(".")] = content
        except (tarfile.TarError, EOFError, OSError) as error:
            raise PreparationError(_message(deb, str(error))) from error
        process.stdout.read()
    if process.returncode:
        raise PreparationError(_message(deb, f"dpkg-deb ended with {process.returncode}"))
    return contents


def _message(deb: str, reason: str) -> str:
    return f"cannot read {os.path.basename(deb)} ({reason}): delete {deb} and run this again"
