from pathlib import Path

import pytest

from stagepost.agents import InvalidPrompt, PromptFolder, PromptNotFound


async def test_a_file_is_a_prompt_and_its_digest_the_version(tmp_path: Path) -> None:
    (tmp_path / "production/team").mkdir(parents=True)
    (tmp_path / "production/team/worker.md").write_text("Være hjelpsom.\n", "utf-8")
    folder = PromptFolder(tmp_path)
    found = await folder.get("team/worker", "production")
    assert found.text == "Være hjelpsom."
    assert found.version.startswith("sha256-")
    (tmp_path / "production/team/worker.md").write_text("Be helpful.", "utf-8")
    assert (await folder.get("team/worker", "production")).version != found.version


async def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(PromptNotFound, match=r"'w'.*'production'"):
        await PromptFolder(tmp_path / "missing").get("w", "production")


async def test_a_prompt_is_created_unless_there_is_one_with_any_label(tmp_path: Path) -> None:
    folder = PromptFolder(tmp_path / "prompts")
    await folder.create("a/[w]", "one", "production")
    await folder.create("a/[w]", "two", "production")
    await folder.create("a/[w]", "two", "staging")
    assert (await folder.get("a/[w]", "production")).text == "one"
    assert [path.name for path in (tmp_path / "prompts").rglob("*") if path.is_file()] == ["[w].md"]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("../w", "production"),
        ("/etc/passwd", "production"),
        ("w", ".."),
        ("", "production"),
        ("a\\b", "x"),
        ("w\0", "x"),
    ],
)
async def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str, label: str) -> None:
    (tmp_path / "w.md").write_text("secret")
    folder = PromptFolder(tmp_path / "prompts")
    with pytest.raises(InvalidPrompt, match="no path in a folder"):
        await folder.get(name, label)
    with pytest.raises(InvalidPrompt, match="no path in a folder"):
        await folder.create(name, "text", label)
