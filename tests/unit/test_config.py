"""Settings put together: which value wins, what is refused, and what is kept from whom."""

from pathlib import Path
from typing import Any

import pytest

from graph_stores.errors import Misuse
from orchestrator import config
from orchestrator.config import InvalidConfig, SecretExposed, Settings


def load(folder: Path, text: str = "", flags: dict[str, Any] | None = None, **environment: str) -> Settings:
    file = folder / "graphmill.toml"
    file.write_text(text, encoding="utf-8")
    return config.load(flags or {}, file=file, environment=environment, directory=folder)


def came(settings: Settings, key: str) -> tuple[Any, str]:
    return next((value, origin) for name, value, origin in settings.shown() if name == key)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('roots = "docs"', "roots in {file} is a str, expected a list of texts"),
        ("default_excludes = 0", "default_excludes in {file} is 0, expected true or false"),
        ("exclude = [1]", "exclude in {file} is a list with other things than texts, expected a list of texts"),
        ("workers = 0", "workers in {file} is 0, expected a whole number above 0"),
        ("workers = true", "workers in {file} is a bool, expected a whole number above 0"),
        ('workers = "2"', "workers in {file} is a str, expected a whole number above 0"),
        ("embedder = 1", "embedder in {file} is 1, expected a text"),
        ('store = ["a"]', "store in {file} is a list, expected a text"),
        ('exlude = ["a"]', "{file} has an unknown key 'exlude'"),
    ],
)
def test_a_value_of_the_wrong_kind_says_what_was_expected(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        load(tmp_path, text)
    assert refusal.value.message == message.format(file=tmp_path / "graphmill.toml")
    assert refusal.value.hint


@pytest.mark.parametrize("workers", ["0", "-1", "two", "1.5", "²"])
def test_a_number_of_the_environment_must_be_one(tmp_path: Path, workers: str) -> None:
    with pytest.raises(Misuse, match=f"GRAPHMILL_WORKERS is '{workers}', expected a whole number above 0"):
        load(tmp_path, GRAPHMILL_WORKERS=workers)


def test_a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default(tmp_path: Path) -> None:
    file = str(tmp_path / "graphmill.toml")
    assert came(load(tmp_path), "workers")[1] == "default"
    assert came(load(tmp_path, "workers = 3"), "workers") == (3, file)
    assert came(load(tmp_path, "workers = 3", GRAPHMILL_WORKERS="4"), "workers") == (4, "GRAPHMILL_WORKERS")
    settings = load(tmp_path, "workers = 3", {"workers": 5}, GRAPHMILL_WORKERS="4")
    assert (came(settings, "workers"), settings.workers) == ((5, "--workers"), 5)


def test_an_option_that_was_not_given_leaves_what_the_file_says(tmp_path: Path) -> None:
    settings = load(tmp_path, 'exclude = ["*.log"]\nembedder = "none"', {"exclude": (), "embedder": None})
    assert (settings.exclude, settings.embedder) == (("*.log",), "none")


def test_a_flag_that_says_no_beats_the_file(tmp_path: Path) -> None:
    assert load(tmp_path, "", {}).default_excludes is None
    assert load(tmp_path, "default_excludes = true", {}).default_excludes is True
    assert load(tmp_path, "default_excludes = true", {"default_excludes": False}).default_excludes is False


def test_there_is_a_worker_for_each_processor_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    assert 1 <= load(tmp_path).workers <= 8


def test_relative_roots_are_beside_the_file(tmp_path: Path) -> None:
    settings = load(tmp_path, 'roots = ["docs", "/srv", "~/notes"]')
    assert settings.roots == (tmp_path / "docs", Path("/srv"), Path.home() / "notes")


def test_secrets_are_shown_as_being_there_and_nowhere_else(tmp_path: Path) -> None:
    settings = load(tmp_path, 'password = "hunter2"', GRAPHMILL_EMBEDDER_KEY="sk-own", OPENAI_API_KEY="sk-theirs")
    assert came(settings, "password") == ("(set)", str(tmp_path / "graphmill.toml"))
    assert came(settings, "embedder_key") == ("(set)", "GRAPHMILL_EMBEDDER_KEY")
    assert settings.embedder_key == "sk-own"
    assert "hunter2" not in repr(settings) and "sk-" not in repr(settings)


def test_a_key_that_was_not_meant_for_graphmill_goes_to_no_endpoint_that_a_file_names(tmp_path: Path) -> None:
    evil = 'embedder_url = "https://evil.example/v1"'
    assert load(tmp_path, OPENAI_API_KEY="sk-theirs").embedder_key == "sk-theirs"
    assert load(tmp_path, evil, OPENAI_API_KEY="sk-theirs").embedder_key is None
    assert load(tmp_path, evil, GRAPHMILL_EMBEDDER_KEY="sk-own").embedder_key == "sk-own"
    mine = {"embedder_url": "https://mine.example/v1"}
    assert load(tmp_path, evil, mine, OPENAI_API_KEY="sk-theirs").embedder_key == "sk-theirs"


def test_an_endpoint_with_a_password_is_refused_without_repeating_it(tmp_path: Path) -> None:
    with pytest.raises(SecretExposed) as refusal:
        load(tmp_path, GRAPHMILL_EMBEDDER_URL="https://me:hunter2@host/v1")
    assert "hunter2" not in refusal.value.message


@pytest.mark.parametrize("url", ["host/v1", "ftp://host", "localhost:8080/v1"])
def test_an_endpoint_without_a_scheme_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(Misuse, match="has no scheme"):
        load(tmp_path, GRAPHMILL_EMBEDDER_URL=url)
