"""Style guides and limits as files: what is refused, with which line, and what happens while they are edited."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from stagepost.service.channels import ChannelLimit, ChannelLimits, InvalidFile, LiveFile, Rollout, StyleGuide
from stagepost.service.channels._yaml import read_yaml

WHOLE = """version: "1.0"
brand: {name: "Timesheet Assistant", personality: "friendly, professional, helpful"}
tone: {default: "conversational", error: "empathetic", success: "encouraging"}
emojis: {enabled: true, success: "✅", warning: "⚠️", error: "❌", info: "ℹ️"}
humor: {enabled: true, style: "light, work-related", frequency: "occasional"}
formatting: {greeting: true, sign_off: false, use_user_name: true}
"""  # noqa: RUF001  # the file of the specification


def read(text: str | bytes, schema: type[Any] = StyleGuide) -> Any:
    return read_yaml("style.yaml", text.encode() if isinstance(text, str) else text, schema)


def test_the_values_of_the_code_are_those_of_the_file() -> None:
    assert read(WHOLE) == StyleGuide()


def test_a_file_overrides_what_it_says_and_nothing_else() -> None:
    guide = read('version: "1.0"\nbrand:\n  name: Hours\nhumor: {enabled: no}\n')
    assert (guide.brand.name, guide.brand.personality) == ("Hours", StyleGuide().brand.personality)
    assert guide.humor.enabled is False
    limits = read("channels: {sms: {max_parts: 3}, pager: {max_length: 80}}", ChannelLimits)
    assert limits.of("sms") == ChannelLimit(max_length=1600, max_parts=3)
    assert limits.of("whatsapp") == ChannelLimit(max_length=4000, split="paragraph")
    assert limits.of("pager") == ChannelLimit(max_length=80)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("brand: {}\nbrnd: {}\n", "2: brnd: this key is not known; known here: version, brand, tone, emojis, "),
        ("brand:\n  name: a\n  logo: b\n", "3: brand.logo: this key is not known; known here: name, personality"),
        ("brand: {}\nemojis:\n  enabled: perhaps\n", "3: emojis.enabled: input should be a valid boolean"),
        ("emojis: [1]\n", "1: emojis: input should be a valid dictionary"),
        ("humor: {frequency: always}\n", "1: humor.frequency: input should be 'never', 'occasional' or 'frequent'"),
        ("version: 1.0\n", '1: the version is a text: write "1.0", with quotes'),
        ('brand: {}\nversion: "1.1"\n', "2: version 1.1 is newer than 1.0, the newest that this program knows"),
        ('version: "10.0"\n', "1: version 10.0 is newer"),
        ("version: one\n", "1: the version 'one' has not the form 1.0"),
        ("brand: {}\ntone: {}\nbrand: {}\n", "3: the key brand is there already, on line 1"),
        ("brand: &a {name: x}\ntone: *a\n", "2: references (*name) are not read"),
        ("brand: &a [*a]\n", "1: references (*name) are not read"),
        ("brand:\n- &a [1, [*a]]\n", "2: references (*name) are not read"),
        ("brand: " + "[" * 5000 + "]" * 5000, "1: lists or mappings are nested too deeply"),
        ("brand: {name: ''}\n", "1: brand.name: string should have at least 1 character"),
        ("brand: {name: x\n", "2: this is no YAML: "),
        ("brand: !!python/object:os.system {}\n", "1: this is no YAML: "),
        ("", "1: the file has no keys"),
        ("# nothing\n", "1: the file has no keys"),
        ("- a\n", "1: the file has no keys"),
        (b"brand: \xff\n", "1: the file is not UTF-8"),
        (b"#" * (1024 * 1024 + 1), "1: the file has more than 1 MiB"),
    ],
)
def test_what_does_not_fit_is_named_with_its_line(text: str | bytes, problem: str) -> None:
    with pytest.raises(InvalidFile) as found:
        read(text)
    assert str(found.value).startswith(f"style.yaml:{problem}")


def test_all_problems_are_named_at_once() -> None:
    with pytest.raises(InvalidFile) as found:
        read("brnd: {}\nhumor: {enabled: 7}\n")
    assert [problem.partition(":")[0] for problem in found.value.problems] == ["2", "1"]


@pytest.mark.parametrize(
    ("text", "schema", "problem"),
    [
        ("channels: {sms: {max_length: 10}}", ChannelLimits, "1: channels.sms.max_length: input should be greater"),
        ("channels: {sms: {long: 10}}", ChannelLimits, "known here: see the documentation"),
        ("channels:\n  sms:\n  - 1\n", ChannelLimits, "2: channels.sms: input should be a valid dictionary"),
        ("share: 2", Rollout, "1: share: input should be less than or equal to 1"),
    ],
)
def test_other_files_are_read_in_the_same_way(text: str, schema: type[Any], problem: str) -> None:
    with pytest.raises(InvalidFile) as found:
        read(text, schema)
    assert problem in str(found.value)


def test_instructions_for_models_have_no_humor_where_something_failed() -> None:
    guide = StyleGuide()
    assert "Humor: light, work-related, occasional." in guide.instructions()
    failed = guide.instructions(failed=True)
    assert "Tone: empathetic" in failed
    assert "Humor" not in failed
    assert "make no joke" in failed
    sober = read("humor: {enabled: false}\nemojis: {enabled: false}").instructions()
    assert "No humor." in sober
    assert "Use no emoji." in sober
    assert "Where something failed: very sorry, without" in read("tone: {error: very sorry}").instructions()


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not condition():  # noqa: ASYNC110  # a file tells nobody
            await anyio.sleep(0.005)


def rename(path: Path, text: str) -> None:
    """As editors write: a new file that takes the name."""
    new = path.with_name("new~")
    new.write_text(text)
    new.replace(path)


def overwrite(path: Path, text: str) -> None:
    path.write_text(text)


@pytest.mark.parametrize("write", [rename, overwrite])
async def test_an_edit_is_taken_while_it_runs(write: Callable[[Path, str], None], tmp_path: Path) -> None:
    path = tmp_path / "style.yaml"
    path.write_text("brand: {name: One}")
    async with LiveFile(path, StyleGuide, every=0.01).watched() as file:
        before = file.edition
        assert file.value.brand.name == "One"
        assert await file.look() == before.version
        write(path, "brand: {name: Two}")
        await until(lambda: file.value.brand.name == "Two")
        assert before.value.brand.name == "One"  # who began with it goes on with it
        assert file.edition.version != before.version
        assert file.edition.version.startswith("1.0+")


async def test_a_bad_edit_keeps_the_last_good_one_is_logged_and_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "style.yaml"
    path.write_text("brand: {name: One}")
    async with LiveFile(path, StyleGuide, every=0.01).watched() as file:
        with caplog.at_level(logging.WARNING, "stagepost"):
            path.write_text("brand: {nam: Two}\n")
            await until(lambda: file.problem is not None)
        assert file.value.brand.name == "One"
        assert "file_refused" in caplog.text
        assert "brand.nam: this key is not known" in caplog.text
        with pytest.raises(InvalidFile, match=r"is used, because: .*style.yaml:1: brand.nam"):
            await file.look()
        path.write_text("brand: {name: One}")
        await until(lambda: file.problem is None)
        assert await file.look() == file.edition.version


async def test_a_file_that_is_deleted_keeps_the_last_good_one_until_it_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "style.yaml"
    path.write_text("brand: {name: One}")
    async with LiveFile(path, StyleGuide, every=0.01).watched() as file:
        path.unlink()
        await until(lambda: file.problem is not None)
        assert "cannot be read: No such file" in str(file.problem)
        assert file.value.brand.name == "One"
        path.write_text("brand: {name: Two}")
        await until(lambda: file.value.brand.name == "Two")


async def test_a_file_that_is_replaced_by_a_directory_or_refers_to_itself_ends_no_watch(tmp_path: Path) -> None:
    path = tmp_path / "style.yaml"
    path.write_text("brand: {name: Hours}\n")
    async with LiveFile(path, StyleGuide, every=0.01).watched() as file:
        path.unlink()
        path.mkdir()
        await until(lambda: "Is a directory" in str(file.problem))
        path.rmdir()
        path.write_text("a: &a [*a]\n")
        await until(lambda: "references" in str(file.problem))
        assert file.value.brand.name == "Hours"
        path.write_text("brand: {name: Days}\n")
        await until(lambda: file.value.brand.name == "Days")


async def test_without_a_good_file_the_defaults_hold(tmp_path: Path) -> None:
    file = LiveFile(tmp_path / "none.yaml", StyleGuide)
    assert file.value == StyleGuide()
    assert file.edition.version == "1.0+defaults"
    with pytest.raises(InvalidFile, match=r"1.0\+defaults is used, because: .*none.yaml cannot be read"):
        await file.look()


async def test_links_that_are_turned_are_followed(tmp_path: Path) -> None:
    """As Kubernetes does with a config map: the file is a link into a link to a folder, which is replaced."""
    for number in (1, 2):
        (tmp_path / f"..{number}").mkdir()
        (tmp_path / f"..{number}" / "style.yaml").write_text(f"brand: {{name: '{number}'}}")
    (tmp_path / "..data").symlink_to("..1")
    path = tmp_path / "style.yaml"
    path.symlink_to("..data/style.yaml")
    async with LiveFile(path, StyleGuide, every=0.01).watched() as file:
        assert file.value.brand.name == "1"
        (tmp_path / "..new").symlink_to("..2")
        (tmp_path / "..new").replace(tmp_path / "..data")
        await until(lambda: file.value.brand.name == "2")


def test_a_file_that_is_being_written_is_read_once_it_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "style.yaml"
    path.write_text("brand: {name: One}")
    file = LiveFile(path, StyleGuide)
    path.write_text("brand: {name: Two}\n")  # half of it
    file._look()
    assert file.value.brand.name == "One"
    path.write_text("brand: {name: Two}\nhumor: {enabled: false}\n")
    file._look()
    assert file.value.brand.name == "One"
    file._look()
    assert (file.value.brand.name, file.value.humor.enabled) == ("Two", False)
    assert file.problem is None
