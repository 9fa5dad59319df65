import importlib.metadata
from collections.abc import Callable
from pathlib import Path

import pytest
from dependency_audit.environment import find_distributions, running_environment
from dependency_audit.errors import AuditError, NotAnEnvironment
from tests.examples.audit_environment import Site


def found(site: Site) -> list[tuple[str, str]]:
    return [(one.name, one.version) for one in find_distributions(site.folder)]


def test_distributions_are_sorted_by_normalised_name(site: Site) -> None:
    for name in ("Zebra", "a_b", "a-a", "A.C"):
        site.install(name)
    assert found(site) == [("a-a", "1.0"), ("a_b", "1.0"), ("A.C", "1.0"), ("Zebra", "1.0")]


def test_the_metadata_path_is_absolute_and_exists(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    info = site.install("alpha")
    monkeypatch.chdir(site.folder.parent)
    assert find_distributions("site-packages")[0].metadata_path == str(info.resolve())


def test_an_egg_info_is_found_as_folder_and_as_file(site: Site) -> None:
    site.write("folder-2.0.egg-info/PKG-INFO", "Name: folder\nVersion: 2.0\n")
    site.write("file-3.0.egg-info", "Name: file\nVersion: 3.0\n")
    assert found(site) == [("file", "3.0"), ("folder", "2.0")]


def test_a_distribution_without_metadata_is_named_by_its_folder(site: Site) -> None:
    site.write("lost-4.2.dist-info/INSTALLER", "pip")
    site.write("bare.dist-info/INSTALLER", "pip")
    site.write("old-1.5-py3.11.egg-info/top_level.txt", "old")
    assert found(site) == [("bare", "unknown"), ("lost", "4.2"), ("old", "1.5")]


def test_metadata_that_is_not_utf8_is_read_all_the_same(site: Site) -> None:
    site.write("latin-1.0.dist-info/METADATA", "Name: latin\nVersion: 1.0\nAuthor: Jos\xe9\n".encode("latin-1"))
    assert found(site) == [("latin", "1.0")]


def test_two_installations_of_one_name_know_of_each_other(site: Site) -> None:
    first, second = site.install("two-fold", "1.0"), site.install("two_fold", "2.0")
    site.install("single")
    twins = {Path(one.metadata_path).name: one.twins for one in find_distributions(site.folder)}
    assert twins == {first.name: [str(second)], second.name: [str(first)], "single-1.0.dist-info": []}


def missing(folder: Path) -> Path:
    return folder / "nowhere"


def file(folder: Path) -> Path:
    (folder / "file").touch()
    return folder / "file"


def unreadable(folder: Path) -> Path:
    return folder / ("long" * 100)


def nonsense(folder: Path) -> Path:
    return folder / "a\0b"


def empty(folder: Path) -> Path:
    return folder


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (missing, "does not exist"),
        (file, "is not a folder"),
        (unreadable, "cannot be read"),
        (nonsense, "cannot be read"),
        (empty, "holds no installed distribution"),
    ],
    ids=["missing", "file", "unreadable", "nonsense", "empty"],
)
def test_what_is_no_environment_is_refused_in_one_sentence(
    tmp_path: Path, make: Callable[[Path], Path], why: str
) -> None:
    path = make(tmp_path)
    with pytest.raises(NotAnEnvironment) as caught:
        find_distributions(path)
    assert isinstance(caught.value, AuditError)
    assert (caught.value.path, caught.value.why) == (str(path), why)
    assert str(caught.value) == (
        f"{str(path)!r} is not a Python environment, because it {why}: pass a site-packages folder, "
        "such as the one that `python -m site` lists."
    )


def test_the_root_of_an_environment_is_refused_with_the_folder_that_was_meant(site: Site) -> None:
    site.install("alpha")
    with pytest.raises(NotAnEnvironment, match=r"did you mean '.*lib/python3/site-packages'"):
        find_distributions(site.folder.parents[2])


def test_a_folder_that_the_running_python_does_not_install_into_is_left_out(site: Site) -> None:
    site.install("alpha")
    python = {"purelib": str(site.folder), "platlib": str(site.folder.parent / "nowhere")}
    assert running_environment(python) == [str(site.folder)]


def test_folders_without_any_distribution_are_kept_to_be_refused_by_name(tmp_path: Path) -> None:
    python = {"purelib": str(tmp_path), "platlib": str(tmp_path)}
    assert running_environment(python) == [str(tmp_path)]


def test_the_running_environment_holds_what_importlib_sees() -> None:
    for folder in running_environment():
        names = sorted(one.name for one in find_distributions(folder))
        assert names == sorted(str(one.name) for one in importlib.metadata.distributions(path=[folder]))
