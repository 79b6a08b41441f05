"""What the machine must have: apt, Debian's keys and archive, polib, and disk space."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

from realformer_runtime.command_line import UserError

OS_RELEASE = "/etc/os-release"
PROJECT = Path(__file__).resolve().parents[2]
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
ADVICE = "run this on Debian 12 or 13, or in a container of one"

OS_RELEASE_FIELD = re.compile(r"^(\w+)=[\"']?(.*?)[\"']?$", re.MULTILINE)
# The release as it is configured, which may be "stable", and the codename that it stands for.
INDEX_TARGET_FORMAT = "$(REPO_URI) $(COMPONENT) $(RELEASE) $(CODENAME)"


def check_tools() -> None:
    """Raise UserError where apt-get, dpkg-deb, Debian's archive keys or polib are missing."""
    missing = [name for name in ("apt-get", "dpkg-deb") if shutil.which(name) is None]
    if missing:
        raise UserError(
            f"this machine has no {' and no '.join(missing)}: the corpus is made of Debian"
            f" packages, fetched with Debian's apt; {ADVICE}"
        )
    if not Path(KEYRING).exists():
        raise UserError(
            f"{KEYRING} is missing, so Debian's packages cannot be verified:"
            " install the package debian-archive-keyring"
        )
    if importlib.util.find_spec("polib") is None:
        advice = f"install it: python3 -m pip install -e '{PROJECT}[debian-corpus]'"
        raise UserError(f"polib, which reads gettext catalogues, is missing: {advice}")


def debian_archive() -> str:
    """Return the URL of the Debian archive that this machine's apt is set up for.

    Raises UserError where the system is not Debian, or has no such archive.
    """
    release = Path(OS_RELEASE)
    system = dict(OS_RELEASE_FIELD.findall(release.read_text() if release.exists() else ""))
    advice = f"{ADVICE}, or give the URL of a Debian archive with --mirror"
    if system.get("ID") != "debian":
        name = system.get("PRETTY_NAME", "not known to be Debian")
        raise UserError(
            f"this system is {name}, and the corpus is made of Debian's packages: {advice}"
        )
    codename = system.get("VERSION_CODENAME", "")
    command = ["apt-get", "indextargets", "--format", INDEX_TARGET_FORMAT, "Identifier: Packages"]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    targets = [line.split() for line in lines]
    urls = [t[0] for t in targets if t[1:2] == ["main"] and codename in t[2:]]
    if not urls:
        raise UserError(f"apt on this machine has no archive for Debian {codename} main: {advice}")
    # Others' archives may use Debian's release names too, but hardly its path.
    return min(urls, key=lambda url: not url.rstrip("/").endswith("/debian"))


def check_disk_space(folder: str, size: int) -> None:
    """Raise UserError unless `folder` can grow to `size` bytes."""
    needed = max(0, size - sum(path.lstat().st_size for path in Path(folder).rglob("*")))
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise UserError(
            f"{folder} has {free / 1e6:,.0f} MB free and {needed / 1e6:,.0f} MB are needed:"
            " free some space or choose another folder"
        )
