"""What is published: a wheel and an sdist with all that belongs in them, which install and work without this folder."""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = sorted(path.parent.name for path in ROOT.glob("*/stagepost") if path.is_dir())
LIMIT = 600  # seconds: only what hangs takes so long
NOT_SOURCE = {"__pycache__"}


def sources(folder: Path) -> Iterator[str]:
    """What a folder adds to the wheel, by its name there."""
    for path in sorted((folder / "stagepost").rglob("*")):
        if path.is_file() and not NOT_SOURCE & set(path.parts):
            yield path.relative_to(folder).as_posix()


def run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "LANG": "C.UTF-8"}
    return subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def python(folder: Path, *packages: object) -> Path:
    """The interpreter of a new environment with these packages; without a package index the test is skipped."""
    made = subprocess.run([sys.executable, "-m", "venv", str(folder)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    command = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    given = [*command, "-c", ROOT / "constraints.txt", *packages]
    done = subprocess.run([str(each) for each in given], capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip(f"this machine has no package index: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return folder / "bin/python"


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_of_the_namespace_is_packaged_and_typed(folder: str) -> None:
    build = PROJECT["tool"]["hatch"]["build"]
    assert folder in build["dev-mode-dirs"]
    assert f"{folder}/stagepost" in build["targets"]["wheel"]["packages"]
    assert folder in build["targets"]["sdist"]["include"]
    assert folder in PROJECT["tool"]["coverage"]["run"]["source"]
    for package in (ROOT / folder / "stagepost").iterdir():
        assert package.is_dir()  # a namespace has no modules of its own, nor an __init__.py
        assert package.name in NOT_SOURCE or (package / "py.typed").is_file(), package


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("built")
    builder = python(folder / "builder", *PROJECT["build-system"]["requires"])
    done = run(builder, "-m", "hatchling", "build", "-d", folder / "dist", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    with tarfile.open(next((folder / "dist").glob("*.tar.gz"))) as sdist:
        sdist.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    done = run(builder, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "again", cwd=unpacked)
    assert done.returncode == 0, done.stderr
    return folder


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as opened:
        return set(opened.namelist())


def wheel_in(folder: Path) -> Path:
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.mark.long
def test_the_wheel_has_all_packages_and_nothing_else(built: Path) -> None:
    wheel, version = wheel_in(built / "dist"), PROJECT["project"]["version"]
    about = f"stagepost-{version}.dist-info"
    assert wheel.name == f"stagepost-{version}-py3-none-any.whl"
    names = names_in(wheel)
    expected = {name for folder in FOLDERS for name in sources(ROOT / folder)}
    entry_points = {f"{about}/entry_points.txt"} if "scripts" in PROJECT["project"] else set()
    assert {name for name in names if not name.startswith(about)} == expected
    assert {f"{about}/METADATA", f"{about}/licenses/LICENSE", *entry_points} <= names
    with zipfile.ZipFile(wheel) as opened:
        told = Parser().parsestr(opened.read(f"{about}/METADATA").decode())
        scripts = opened.read(f"{about}/entry_points.txt").decode() if entry_points else ""
    assert (told["Name"], told["Version"], told["License-Expression"]) == ("stagepost", version, "MIT")
    for name, target in PROJECT["project"].get("scripts", {}).items():
        assert f"{name} = {target}" in scripts


@pytest.mark.long
def test_the_sdist_builds_the_same_wheel(built: Path) -> None:
    (unpacked,) = (built / "unpacked").iterdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "tests/golden", "docs", "examples"):
        assert (unpacked / name).exists(), name
    with zipfile.ZipFile(wheel_in(built / "dist")) as one, zipfile.ZipFile(wheel_in(built / "again")) as other:
        assert {each.filename: each.CRC for each in one.infolist()} == {
            each.filename: each.CRC for each in other.infolist()
        }


@pytest.mark.long
def test_the_wheel_installs_with_its_core_dependencies_and_works(built: Path, tmp_path: Path) -> None:
    clean = python(tmp_path / "core", wheel_in(built / "dist"))
    (tmp_path / "order_fulfilment").symlink_to(ROOT / "examples" / "order_fulfilment")
    packages = [name for folder in FOLDERS for name in (ROOT / folder / "stagepost").iterdir() if name.name.isalpha()]
    imports = "; ".join(f"import stagepost.{package.name}" for package in packages)
    done = run(clean, "-W", "error", "-c", f"{imports}; print(stagepost.hub.__file__)", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path / "core"))
    assert run(clean, "-m", "pip", "check", cwd=tmp_path).returncode == 0
    ordered = run(clean, "-m", "order_fulfilment", cwd=tmp_path)
    assert ordered.returncode == 0, ordered.stderr


@pytest.mark.long
def test_the_demo_passes_with_the_wheel(built: Path, tmp_path: Path) -> None:
    clean = python(tmp_path / "demo", f"{wheel_in(built / 'dist')}[demo]")
    (tmp_path / "dependency_audit").symlink_to(ROOT / "examples" / "dependency_audit")
    (tmp_path / "offline").symlink_to(ROOT / "examples" / "offline")
    done = run(clean, "-m", "dependency_audit", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name, target in PROJECT["project"].get("scripts", {}).items():
        assert (clean.parent / name).is_file(), target
