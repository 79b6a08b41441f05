"""What the machine must have: apt, a Debian archive to read, Debian's keys and disk space."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from realformer_runtime.command_line import UserError

COMMANDS = ("apt-get", "dpkg-deb")
OS_RELEASE = "/etc/os-release"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
ADVICE = "run this on Debian 12 or 13, or in a container of one"

OS_RELEASE_FIELD = re.compile(r"^(\w+)=[\"']?(.*?)[\"']?$", re.MULTILINE)
# The release as it is configured, which may be "stable", and the codename that it stands for.
INDEX_TARGET_FORMAT = "$(REPO_URI) $(COMPONENT) $(RELEASE) $(CODENAME)"

MEGABYTE = 10**6


def check_commands() -> None:
    """Raise UserError where apt-get or dpkg-deb is missing."""
    missing = [command for command in COMMANDS if shutil.which(command) is None]
    if missing:
        raise UserError(
            f"this machine has no {' and no '.join(missing)}: the corpus is made of Debian"
            f" packages, fetched with Debian's apt; {ADVICE}"
        )


def check_keyring(path: str = KEYRING) -> None:
    """Raise UserError where Debian's archive keys are missing."""
    if not os.path.exists(path):
        raise UserError(
            f"{path} is missing, so Debian's packages cannot be verified:"
            " install the package debian-archive-keyring"
        )


def debian_archive(os_release: str = OS_RELEASE) -> str:
    """Return the URL of the Debian archive that this machine's apt is set up for.

    Raises UserError where the system is not Debian, or has no such archive.
    """
    try:
        with open(os_release, encoding="utf-8") as file:
            system = dict(OS_RELEASE_FIELD.findall(file.read()))
    except FileNotFoundError:
        system = {}
    advice = f"{ADVICE}, or give the URL of a Debian archive with --mirror"
    if system.get("ID") != "debian":
        name = system.get("PRETTY_NAME", "not known to be Debian")
        raise UserError(
            f"this system is {name}, and the corpus is made of Debian's packages: {advice}"
        )
    codename = system.get("VERSION_CODENAME", "")
    urls = [
        url
        for url, component, *releases in _index_targets()
        if component == "main" and codename in releases
    ]
    if not urls:
        raise UserError(f"apt on this machine has no archive for Debian {codename} main: {advice}")
    # Others' archives may use Debian's release names too, but hardly its path.
    return min(urls, key=lambda url: not url.rstrip("/").endswith("/debian"))


def _index_targets() -> list[list[str]]:
    """Return URL, component and names of the release of each package index in apt's settings."""
    result = subprocess.run(
        ["apt-get", "indextargets", "--format", INDEX_TARGET_FORMAT, "Identifier: Packages"],
        capture_output=True,
        text=True,
    )
    lines = (line.split() for line in result.stdout.splitlines())
    return [fields for fields in lines if len(fields) >= 3]


def check_disk_space(folder: str, needed: int) -> None:
    """Raise UserError unless the existing `folder` has `needed` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise UserError(
            f"{folder} has {_megabytes(free)} free and {_megabytes(needed)} are needed:"
            " free some space or choose another folder"
        )


def _megabytes(size: int) -> str:
    return f"{size / MEGABYTE:,.0f} MB"


def folder_size(folder: str) -> int:
    """Return the bytes of the files in `folder` and below."""
    return sum(
        os.lstat(os.path.join(parent, name)).st_size
        for parent, _, names in os.walk(folder)
        for name in names
    )
