import json
import sys
from pathlib import Path

import pytest
from dependency_audit.environment import find_distributions
from dependency_audit.inspection import inspect
from dependency_audit.models import Distribution, Inspection
from tests.examples.audit_environment import Site, recorded


def test_an_untouched_distribution_has_every_file_and_no_problem(site: Site) -> None:
    info = site.install("alpha", files={"alpha/core.py": "x" * 995, "alpha/py.typed": ""})
    seen = site.inspect()
    files = [site.folder / "alpha/__init__.py", site.folder / "alpha/core.py", info / "METADATA", info / "RECORD"]
    assert seen == Inspection(
        name="alpha",
        version="1.0",
        metadata_path=str(info),
        licence="MIT",
        typed=True,
        size_bytes=sum(file.stat().st_size for file in files),
        file_count=5,
        verified_count=4,
        file_source="RECORD",
    )


def test_an_edited_file_is_changed_and_a_deleted_one_is_missing(site: Site) -> None:
    site.install("alpha", files={"alpha/a.py": "1", "alpha/b.py": "2", "alpha/c.py": "3"})
    site.write("alpha/b.py", "2 # and more")
    (site.folder / "alpha/a.py").unlink()
    seen = site.inspect()
    assert (seen.changed_files, seen.missing_files, seen.verified_count) == (["alpha/b.py"], ["alpha/a.py"], 4)


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512", "md5", "blake2b"])
def test_the_algorithm_that_the_record_names_is_used(site: Site, algorithm: str) -> None:
    site.install("alpha", files={"alpha/a.py": "1", "alpha/b.py": "2"}, algorithm=algorithm)
    site.write("alpha/b.py", "3")
    seen = site.inspect()
    assert (seen.verified_count, seen.changed_files) == (4, ["alpha/b.py"])


@pytest.mark.parametrize("checksum", ["", "sha256=", "sha257=AAAA", "shake_128=AAAA", "AAAA"])
def test_a_file_without_a_usable_hash_is_measured_and_not_compared(site: Site, checksum: str) -> None:
    info = site.install("alpha")
    (info / "RECORD").write_text(f"alpha/__init__.py,{checksum},5\n")
    seen = site.inspect()
    assert (seen.file_count, seen.size_bytes, seen.verified_count, seen.changed_files) == (1, 5, 0, [])


def test_scripts_beside_the_library_are_part_of_the_distribution(site: Site) -> None:
    site.install("alpha", files={"../../../bin/alpha": "#!python", "../../../bin/beta": "#!python"})
    (site.folder / "../../../bin/beta").write_text("#!other")
    seen = site.inspect()
    assert (seen.changed_files, seen.missing_files, seen.file_count) == (["../../../bin/beta"], [], 5)


def test_caches_are_neither_counted_nor_missed(site: Site) -> None:
    site.install("alpha")
    before = site.inspect()
    (site.folder / "alpha/__pycache__/__init__.cpython-311.pyc").unlink()
    assert site.inspect() == before


def test_a_recorded_name_with_commas_and_quotes_is_one_file(site: Site) -> None:
    info = site.install("alpha")
    site.write('alpha/a, "b".txt', "text")
    with (info / "RECORD").open("a") as record:
        record.write(f'"alpha/a, ""b"".txt",{recorded(b"text")},4\n')
    assert site.inspect().verified_count == 3


@pytest.mark.parametrize(
    "row",
    [".,,", "alpha,sha256=AAAA,", f"{'long' * 100}.py,,", "a\0b.py,,", "/dev/zero,sha256=AAAA,"],
    ids=["itself", "folder", "too long", "nul", "device"],
)
def test_what_is_no_file_is_missing_and_not_read(site: Site, row: str) -> None:
    info = site.install("alpha")
    (info / "RECORD").write_text(f"alpha/__init__.py,,\n{row}\n")
    seen = site.inspect()
    assert (seen.file_count, seen.missing_files) == (1, [row.split(",", maxsplit=1)[0]])


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file that opens and cannot be read")
def test_a_file_that_cannot_be_read_is_told_apart_from_a_changed_one(site: Site) -> None:
    info = site.install("alpha")
    (info / "RECORD").write_text("/proc/self/mem,sha256=AAAA,\n")
    seen = site.inspect()
    assert (seen.unreadable_files, seen.changed_files, seen.verified_count) == (["/proc/self/mem"], [], 0)


@pytest.mark.parametrize(
    ("name", "native"),
    [
        ("_a.cpython-311-x86_64-linux-gnu.so", True),
        ("libz.so.1.2", True),
        ("_a.pyd", True),
        ("a.dylib", True),
        ("a.so.py", False),
        ("also", False),
    ],
)
def test_native_code_is_known_by_its_suffix(site: Site, name: str, native: bool) -> None:  # noqa: FBT001
    site.install("alpha", files={f"alpha/{name}": b"\x7fELF"})
    assert site.inspect().native is native


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        ("alpha/py.typed", True),
        ("ns/alpha/py.typed", True),
        ("alpha-stubs/__init__.pyi", True),
        ("alpha/_vendor/other/py.typed", False),
        ("alpha/py.typed.txt", False),
    ],
)
def test_type_information_is_its_own_and_not_that_of_a_vendored_copy(
    site: Site,
    path: str,
    typed: bool,  # noqa: FBT001
) -> None:
    site.install("alpha", files={path: ""})
    assert site.inspect().typed is typed


def test_entry_points_are_sorted_and_keep_their_case(site: Site) -> None:
    info = site.install("alpha")
    text = "[pytest11]\nAlpha = alpha.plugin\n\n[console_scripts]\nb = alpha:b\na = alpha:a [extra]\n"
    (info / "entry_points.txt").write_text(text)
    seen = site.inspect()
    assert seen.entry_points == ["console_scripts: a", "console_scripts: b", "pytest11: Alpha"]


def test_requires_python_is_kept_as_written(site: Site) -> None:
    site.install("alpha", headers="Requires-Python: >=3.8, !=3.9.*\n")
    assert site.inspect().requires_python == ">=3.8, !=3.9.*"


@pytest.mark.parametrize(
    ("origin", "editable"),
    [
        ('{"url": "file:///a", "dir_info": {"editable": true}}', True),
        ('{"dir_info": {}}', False),
        ("[]", False),
        ("{", False),
        ("[" * 100000, False),
        ('{"dir_info": {"editable": "yes"}}', False),
    ],
    ids=["editable", "folder", "list", "broken", "deep", "text"],
)
def test_an_editable_installation_is_recognised(site: Site, origin: str, editable: bool) -> None:  # noqa: FBT001
    info = site.install("alpha", files={"_alpha.pth": "/somewhere"})
    (info / "direct_url.json").write_text(origin)
    seen = site.inspect()
    assert (seen.editable, seen.problems) == (editable, [])


def test_broken_metadata_is_a_result_and_never_an_error(site: Site) -> None:
    site.write("empty-1.0.dist-info/METADATA", "")
    site.write("garbled-1.0.dist-info/METADATA", bytes(range(256)))
    site.write("garbled-1.0.dist-info/RECORD", f'x,"{"y" * 200_000}')
    site.write("garbled-1.0.dist-info/entry_points.txt", "no section")
    site.write("nameless-1.0.egg-info/PKG-INFO", "Version: 1.0\n")
    problems = {one.name: inspect(one).problems for one in find_distributions(site.folder)}
    assert problems == {
        "empty": ["METADATA is missing or empty"],
        "garbled": [
            "METADATA is missing or empty",
            "RECORD is empty or cannot be parsed",
            "entry_points.txt cannot be parsed",
        ],
        "nameless": ["PKG-INFO has no name or no version"],
    }


def test_a_distribution_that_vanished_since_the_inventory_has_no_files(tmp_path: Path) -> None:
    gone = Distribution(name="gone", version="1.0", metadata_path=str(tmp_path / "gone-1.0.dist-info"))
    seen = inspect(gone)
    assert (seen.file_count, seen.problems) == (0, ["METADATA is missing or empty"])


def test_an_egg_info_with_a_list_of_installed_files_misses_what_is_gone(site: Site) -> None:
    site.write("old-1.0.egg-info/PKG-INFO", "Name: old\nVersion: 1.0\nLicense: BSD\n")
    site.write("old-1.0.egg-info/installed-files.txt", "../old/__init__.py\n../old/gone.py\n\nPKG-INFO\n")
    site.write("old/__init__.py", "pass")
    seen = site.inspect()
    assert (seen.file_source, seen.file_count, seen.verified_count) == ("installed-files.txt", 2, 0)
    assert (seen.missing_files, seen.licence) == (["old/gone.py"], "BSD")


def test_without_a_list_the_files_are_those_of_the_importable_names(site: Site) -> None:
    site.write("old-1.0.egg-info/PKG-INFO", "Name: old\nVersion: 1.0\n")
    site.write("old-1.0.egg-info/top_level.txt", "old\n_old\nolder\n../../etc\n")
    for path in ("old/a.py", "old/sub/b.py", "old/__pycache__/a.pyc", "_old.abi3.so", "older.py", "oldest.py"):
        site.write(path, "1234")
    seen = site.inspect()
    names = (site.folder / "old-1.0.egg-info").iterdir()
    metadata = sum(file.stat().st_size for file in names)
    assert (seen.file_source, seen.file_count, seen.size_bytes) == ("top_level.txt", 6, 16 + metadata)
    assert seen.native


@pytest.mark.parametrize("name", ["old-1.0.egg-info", "old-1.0.egg-info/PKG-INFO"], ids=["file", "folder"])
def test_with_nothing_to_go_by_only_the_metadata_is_counted(site: Site, name: str) -> None:
    site.write(name, "Name: old\nVersion: 1.0\n")
    site.write("old/a.py", "1234")
    seen = site.inspect()
    assert (seen.file_source, seen.file_count, seen.problems) == ("metadata", 1, [])


def test_values_read_back_from_json_byte_for_byte(site: Site) -> None:
    site.install("alpha", files={"alpha/ä.py": "1"}, headers="License: Ünknown «licence»\n")
    (site.folder / "alpha/ä.py").unlink()
    seen = site.inspect()
    text = seen.model_dump_json()
    assert Inspection.model_validate_json(text).model_dump_json() == text
    assert Inspection.model_validate(json.loads(text), strict=True) == seen
