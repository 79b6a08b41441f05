"""Client of a Debian archive: apt-get with its whole state in a private folder.

Layout of the folder: apt-SUITE/ has the configuration and package lists of a suite, debs/ the
verified packages, debs/partial/ what is being downloaded.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass

from realformer_runtime.command_line import UserError

from .deb_members import read_members
from .host_requirements import KEYRING
from .package_descriptions import PackageRecord, parse_packages
from .text_normalisation import decode

# amd64 on every machine, so that the corpus is the same. The hooks that a system has configured
# would touch its files. Without a sandbox user, the folder need not be readable by that user.
CONFIGURATION = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Architectures;
APT::Architecture "amd64";
APT::Architectures:: "amd64";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::GzipIndexes "false";
Acquire::Retries "3";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "-";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "{folder}";
Dir::State::status "/dev/null";
Dir::Cache "{folder}/cache";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
"""
SOURCES_LIST = (
    "deb [arch=amd64 lang=en,fr target=Packages,Translations signed-by={keyring}]"
    " {mirror} {suite} main\n"
)
PACKAGES, TRANSLATION = "Packages", "Translation-"
INDEXES = (PACKAGES, TRANSLATION + "en", TRANSLATION + "fr")
APT_ERROR = re.compile(r"^E: (.*)", re.MULTILINE)
RELEASE_DATE = re.compile(r"^Date: (.*)", re.MULTILINE)
HASH_CHUNK = 1 << 20  # bytes
NOT_QUOTABLE = re.compile(r'["\x00-\x1f\x7f]')
MIRROR = re.compile(r"[a-z+]+:[^\s\[\]#]+")


@dataclass(frozen=True)
class AptSuite:
    """The lists of one suite (such as bookworm) of the archive at the URL `mirror`."""

    cache: str
    mirror: str
    suite: str

    @property
    def folder(self) -> str:
        return os.path.join(self.cache, "apt-" + self.suite)

    def fetch_lists(self) -> None:
        """Fetch the suite's indexes, unless all are there. Raises UserError on failure."""
        for name in ("lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(self.folder, name), exist_ok=True)
        self._write("apt.conf", CONFIGURATION)
        if all(self._index_paths(name) for name in INDEXES):
            self._check_mirror()
            return
        self._write("sources.list", SOURCES_LIST)
        error = self._apt_get("update", cwd=self.folder)
        if error or not all(self._index_paths(name) for name in INDEXES):
            raise UserError(
                f"cannot read the lists of Debian {self.suite} from {self.mirror}"
                f" ({error or 'some are missing'}): check the network and the archive's URL,"
                " then run this again"
            )

    def _check_mirror(self) -> None:
        """Raise UserError if the lists were fetched from another archive."""
        with open(os.path.join(self.folder, "sources.list"), encoding="utf-8") as file:
            if f" {self.mirror} " not in file.read():
                raise UserError(
                    f"{self.folder} has the lists of another archive than {self.mirror}:"
                    " delete this folder, or use the archive that it was made with"
                )

    def index(self, name: str) -> str:
        """Return the text of an index of INDEXES, such as "Packages"."""
        with open(self._index_paths(name)[0], "rb") as file:
            return decode(file.read())

    def release_date(self) -> str:
        """Return the date at which the suite was published, as its Release file has it."""
        with open(self._index_paths("*Release")[0], "rb") as file:
            date = RELEASE_DATE.search(decode(file.read()))
        return date.group(1) if date else "unknown"

    def download(self, packages: list[str], folder: str) -> str:
        """Let apt download the packages into `folder`; return its error message, or ""."""
        return self._apt_get("download", *packages, cwd=folder)

    def _index_paths(self, name: str) -> list[str]:
        return glob.glob(os.path.join(glob.escape(self.folder), "lists", "*_" + name))

    def _write(self, name: str, template: str) -> None:
        text = template.format(
            folder=self.folder, keyring=KEYRING, mirror=self.mirror, suite=self.suite
        )
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def _apt_get(self, *arguments: str, cwd: str) -> str:
        command = ["apt-get", "-c", os.path.join(self.folder, "apt.conf"), "-q", *arguments]
        environment = {**os.environ, "LC_ALL": "C"}
        with tempfile.TemporaryFile() as errors:
            with subprocess.Popen(
                command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=errors
            ) as process:
                _show_progress(process.stdout)
            errors.seek(0)
            message = APT_ERROR.search(decode(errors.read()))
        if process.returncode == 0:
            return ""
        return message.group(1) if message else f"apt-get ended with {process.returncode}"


def _show_progress(apt_output: Iterable[bytes]) -> None:
    """Pass on apt's line for each file that it gets, and none of its others."""
    for line in apt_output:
        if line.startswith(b"Get:"):
            print(decode(line).rstrip(), file=sys.stderr, flush=True)


@dataclass(frozen=True)
class DebianArchive:
    """Packages of the first of `suites`; the others only have further descriptions."""

    suites: tuple[AptSuite, ...]
    deb_paths: dict[str, str]

    def members(self, package: str, path_pattern: str) -> dict[str, bytes]:
        """Return {path: content} of the package's files whose path matches `path_pattern`."""
        return read_members(self.deb_paths[package], path_pattern)


def check_quotable(cache: str, mirror: str) -> None:
    """Raise UserError where apt's configuration would take a name for something else."""
    if NOT_QUOTABLE.search(cache):
        raise UserError(f"--cache {cache!r}: apt takes no path with a quotation mark in it")
    if not MIRROR.fullmatch(mirror):
        raise UserError(f"--mirror {mirror!r} is not the URL of a Debian archive")


def open_archive(
    cache: str, mirror: str, suites: tuple[str, ...], packages: list[str]
) -> DebianArchive:
    """Return the archive with all the `packages` downloaded into `cache`, an absolute path.

    What is in `cache` already is not fetched again. Raises UserError where the archive
    cannot be read or lacks a package.
    """
    check_quotable(cache, mirror)
    clients = tuple(AptSuite(cache, mirror, suite) for suite in suites)
    for client in clients:
        client.fetch_lists()
    index = parse_packages(clients[0].index(PACKAGES))
    missing = [package for package in packages if package not in index]
    if missing:
        raise UserError(
            f"Debian {suites[0]} at {mirror} has no package {', '.join(missing)}: check that it is"
            f" a complete archive; to read its lists again, delete {clients[0].folder}"
        )
    odd = [package for package in packages if "/" in index[package].file_name]
    if odd:
        raise UserError(f"Debian {suites[0]} at {mirror}: no file name for {odd[0]}")
    folder = os.path.join(cache, "debs")
    _download(clients[0], [index[package] for package in packages], folder)
    paths = {package: os.path.join(folder, index[package].file_name) for package in packages}
    return DebianArchive(clients, paths)


def _download(client: AptSuite, records: list[PackageRecord], folder: str) -> None:
    """Download the packages that `folder` lacks; only a verified one gets its final name."""
    partial = os.path.join(folder, "partial")
    os.makedirs(partial, exist_ok=True)
    absent = [r for r in records if not is_intact(os.path.join(folder, r.file_name), r)]
    if not absent:
        return
    size = sum(record.size for record in absent)
    print(f"downloading {len(absent)} packages, {size / 1e6:.0f} MB", file=sys.stderr, flush=True)
    error = client.download([record.name for record in absent], partial)
    failed = []
    for record in absent:
        path = os.path.join(partial, record.file_name)
        if is_intact(path, record):
            os.replace(path, os.path.join(folder, record.file_name))
        else:
            failed.append(record.name)
    if failed:
        raise UserError(
            f"cannot download {', '.join(failed)} ({error or 'damaged on the way'}): check the"
            " network and run this again, what is downloaded is kept; if the archive has newer"
            f" packages now, delete {client.folder} first"
        )


def is_intact(path: str, record: PackageRecord) -> bool:
    """Whether `path` has the size and the SHA-256 of the package."""
    if not os.path.exists(path) or os.path.getsize(path) != record.size:
        return False
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(HASH_CHUNK), b""):
            digest.update(chunk)
    return digest.hexdigest() == record.sha256
