"""Client of a Debian archive: apt-get with its whole state in a private folder.

Layout of the folder: apt-SUITE/ has the package lists of a suite, debs/ the verified packages,
debs/partial/ what is being downloaded.
"""

import hashlib
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import UserError

from .deb_members import read_members
from .host_requirements import KEYRING
from .package_descriptions import PackageRecord, parse_packages

CONFIGURATION = Path(__file__).with_name("apt.conf")
INDEXES = ("Packages", "Translation-en", "Translation-fr")
NOT_QUOTABLE = re.compile(r'["\x00-\x1f\x7f]')
MIRROR = re.compile(r"[a-z+]+:[^\s\[\]#]+")


@dataclass(frozen=True)
class AptSuite:
    """The lists of one suite (such as bookworm) of the archive at the URL `mirror`."""

    cache: str
    mirror: str
    suite: str

    @property
    def folder(self) -> Path:
        return Path(self.cache, f"apt-{self.suite}")

    def fetch_lists(self) -> None:
        """Fetch the suite's indexes, unless all are there. Raises UserError on failure."""
        for name in ("lists/partial", "cache/archives/partial"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        sources_list = self.folder / "sources.list"
        if self._has_lists():
            if f" {self.mirror} " not in sources_list.read_text("utf-8"):
                raise UserError(
                    f"{self.folder} has the lists of another archive than {self.mirror}:"
                    " delete this folder, or use the archive that it was made with"
                )
            return
        with atomic_output(sources_list) as path:
            what = f"arch=amd64 lang=en,fr target=Packages,Translations signed-by={KEYRING}"
            path.write_text(f"deb [{what}] {self.mirror} {self.suite} main\n", "utf-8")
        error = self.apt_get("update", cwd=self.folder)
        if error or not self._has_lists():
            raise UserError(
                f"cannot read the lists of Debian {self.suite} from {self.mirror}"
                f" ({error or 'some are missing'}): check the network and the archive's URL,"
                " then run this again"
            )

    def _has_lists(self) -> bool:
        return all(self._index_paths(name) for name in INDEXES)

    def _index_paths(self, name: str) -> list[Path]:
        return list(self.folder.glob(f"lists/*_{name}"))

    def index(self, name: str) -> str:
        """Return the text of an index of INDEXES, such as "Packages"."""
        return self._index_paths(name)[0].read_text("utf-8", "replace")

    def release_date(self) -> str:
        """Return the date at which the suite was published, as its Release file has it."""
        date = re.search(r"^Date: (.*)", self.index("*Release"), re.MULTILINE)
        return date.group(1) if date else "unknown"

    def apt_get(self, *arguments: str, cwd: Path) -> str:
        """Run apt-get; pass on its line for each file that it gets. Return its error, or ""."""
        settings = f"-oDir={self.folder}", f"-oDir::Etc::sourcelist={self.folder}/sources.list"
        process = subprocess.Popen(
            ["apt-get", "-q", "-c", CONFIGURATION, *settings, *arguments],
            cwd=cwd,
            env={**os.environ, "LC_ALL": "C"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        error = ""
        with process:
            for line in process.stdout:
                if line.startswith("Get:"):
                    print(line.rstrip(), file=sys.stderr, flush=True)
                elif line.startswith("E: "):
                    error = error or line[3:].strip()
        if process.returncode == 0:
            return ""
        return error or f"apt-get ended with {process.returncode}"


@dataclass(frozen=True)
class DebianArchive:
    """Packages of the first of `suites`; the others only have further descriptions."""

    suites: tuple[AptSuite, ...]
    deb_paths: dict[str, str]

    def members(self, package: str, path_pattern: str) -> dict[str, bytes]:
        """Return {path: content} of the package's files whose path matches `path_pattern`."""
        return read_members(self.deb_paths[package], path_pattern)


def check_quotable(cache: str, mirror: str) -> None:
    """Raise UserError where apt would take a name for something else."""
    if NOT_QUOTABLE.search(cache):
        raise UserError(f"--cache {cache!r}: apt takes no path with a quotation mark in it")
    if not MIRROR.fullmatch(mirror):
        raise UserError(f"--mirror {mirror!r} is not the URL of a Debian archive")


def open_archive(cache: str, mirror: str, suites: tuple, packages: list[str]) -> DebianArchive:
    """Return the archive with all the `packages` downloaded into `cache`, an absolute path.

    What is in `cache` already is not fetched again. Raises UserError where the archive
    cannot be read or lacks a package.
    """
    check_quotable(cache, mirror)
    clients = tuple(AptSuite(cache, mirror, suite) for suite in suites)
    for client in clients:
        client.fetch_lists()
    index = parse_packages(clients[0].index("Packages"))
    missing = [package for package in packages if package not in index]
    if missing:
        raise UserError(
            f"Debian {suites[0]} at {mirror} has no package {', '.join(missing)}: check that it is"
            f" a complete archive; to read its lists again, delete {clients[0].folder}"
        )
    records = [index[package] for package in packages]
    for record in records:
        if "/" in record.file_name:
            raise UserError(f"Debian {suites[0]} at {mirror}: no file name for {record.name}")
    folder = Path(cache, "debs")
    _download(clients[0], records, folder)
    return DebianArchive(clients, {r.name: str(folder / r.file_name) for r in records})


def _download(client: AptSuite, records: list[PackageRecord], folder: Path) -> None:
    """Download the packages that `folder` lacks; only a verified one gets its final name."""
    partial = folder / "partial"
    partial.mkdir(parents=True, exist_ok=True)
    absent = [record for record in records if not _is_intact(folder / record.file_name, record)]
    if not absent:
        return
    size = sum(record.size for record in absent)
    print(f"downloading {len(absent)} packages, {size / 1e6:.0f} MB", file=sys.stderr, flush=True)
    error = client.apt_get("download", *(record.name for record in absent), cwd=partial)
    failed = []
    for record in absent:
        if _is_intact(partial / record.file_name, record):
            os.replace(partial / record.file_name, folder / record.file_name)
        else:
            failed.append(record.name)
    if failed:
        raise UserError(
            f"cannot download {', '.join(failed)} ({error or 'damaged on the way'}): check the"
            " network and run this again, what is downloaded is kept; if the archive has newer"
            f" packages now, delete {client.folder} first"
        )


def _is_intact(path: Path, record: PackageRecord) -> bool:
    """Whether `path` has the SHA-256 of the package."""
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == record.sha256
