"""What a run leaves out by default, why, and what looks like it and is read."""

from pathlib import Path

import pytest

from pipelines.files.default_excludes import GROUPS, rule_for_file
from pipelines.files.walk import Excluded, Found, Rules, entries_in, excluded_root, follows, walk

from .test_walk import ignore, plant

ALL = Rules(default_excludes=False)


def excluded(root: Path, rules: Rules = Rules(), *, explain: bool = False) -> dict[str, str]:  # noqa: B008 -- frozen
    return {each.shown: each.reason for each in walk(root, rules, explain=explain) if isinstance(each, Excluded)}


def found(root: Path, rules: Rules = Rules()) -> list[str]:  # noqa: B008 -- frozen
    return [each.path for each in walk(root, rules) if isinstance(each, Found)]


@pytest.mark.parametrize(
    ("reason", "names"),
    [
        ("secret", ".env .env.local .ENV prod.env .envrc server.pem tls.key id_rsa id_ed25519 .netrc .pgpass .npmrc"),
        ("secret", ".pypirc .git-credentials .htpasswd a/.aws/credentials .docker/config.json .kube/config vault.kdbx"),
        ("secret", "service-account-prod.json client_secret_12.json terraform.tfstate prod.tfvars x.p12 x.jks"),
        ("secret", ".env~ prod.env~ prod.env.bak .env.bak id_rsa.bak id_rsa~ ID_RSA.old id_ed25519_work id_ecdsa.1"),
        ("secret", "kubeconfig kubeconfig.yaml prod.kubeconfig"),
        ("lock file", "package-lock.json yarn.lock pnpm-lock.yaml poetry.lock uv.lock Cargo.lock go.sum Pipfile.lock"),
        ("source map", "app.js.map style.css.map"),
        ("minified", "jquery.min.js site.min.css"),
        ("file of an editor or system", ".DS_Store Thumbs.db .a.swp"),
    ],
)
def test_a_file_of_the_list_is_left_out_with_its_reason(reason: str, names: str) -> None:
    for path in names.split():
        rule = rule_for_file(path.rpartition("/")[2], path)
        assert rule is not None and str(rule) == f"{reason} ({rule.pattern})", path


@pytest.mark.parametrize(
    "path",
    [
        *(".env.example", ".env.sample", ".env.local.template", "example.env", "prod.tfvars.example", "id_rsa.pub"),
        *("id_ed25519_work.pub", "ID_RSA.PUB", "ids.py", "identity.py", "kubeconfig.py", "environment.bak"),
        *("config", "credentials", "docker/config.json", "settings.xml", "secrets.py", "service_account.py", "env.md"),
        *(
            "key.md",
            "keys.json",
            "lock.py",
            "world.map",
            "min.js",
            "admin.js",
            ".gitignore",
            ".github",
            "environment.yml",
        ),
    ],
)
def test_what_only_looks_like_it_is_read(path: str) -> None:
    assert rule_for_file(path.rpartition("/")[2], path) is None


def test_folders_are_left_out_by_name_by_what_is_beside_them_and_by_what_is_in_them(tmp_path: Path) -> None:
    plant(
        tmp_path,
        ".venv/a.py",
        "node_modules/x/a.js",
        "src/__pycache__/a.txt",
        "x.egg-info/PKG",
        "lib/site-packages/a.py",
    )
    plant(tmp_path, "work/pyvenv.cfg", "work/lib/a.py", "conda/conda-meta/history", "big/CACHEDIR.TAG", "big/a.txt")
    plant(tmp_path, "app/pyproject.toml", "app/build/a.py", "app/dist/a.txt", "rust/Cargo.toml", "rust/target/a.rs")
    plant(tmp_path, "go/go.mod", "go/vendor/a.go", "notes/build/a.md", "notes/target/b.md", "notes/vendor/c.md")
    assert excluded(tmp_path) == {
        ".venv/": "virtual environment (.venv)",
        "app/build/": "build output (build beside pyproject.toml)",
        "app/dist/": "build output (dist beside pyproject.toml)",
        "big/": "cache (with CACHEDIR.TAG)",
        "conda/": "virtual environment (with conda-meta)",
        "go/vendor/": "dependencies (vendor beside go.mod)",
        "lib/site-packages/": "dependencies (site-packages)",
        "node_modules/": "dependencies (node_modules)",
        "rust/target/": "build output (target beside Cargo.toml)",
        "src/__pycache__/": "cache (__pycache__)",
        "work/": "virtual environment (with pyvenv.cfg)",
        "x.egg-info/": "dependencies (*.egg-info)",
    }
    kept = ["app/pyproject.toml", "go/go.mod", "notes/build/a.md", "notes/target/b.md", "notes/vendor/c.md"]
    assert found(tmp_path) == [*kept, "rust/Cargo.toml"]
    assert len(found(tmp_path, ALL)) == len([path for path in tmp_path.rglob("*") if path.is_file()])
    assert excluded(tmp_path, ALL) == {}


def test_a_folder_that_is_left_out_is_not_looked_into(tmp_path: Path) -> None:
    plant(tmp_path, "node_modules/deep/a.js", "a.md")
    assert entries_in(tmp_path, Rules(), most=99) == 2
    assert entries_in(tmp_path, ALL, most=99) == 4
    (tmp_path / "node_modules").chmod(0)
    try:
        assert excluded(tmp_path) == {"node_modules/": "dependencies (node_modules)"}
    finally:
        (tmp_path / "node_modules").chmod(0o700)


def test_to_include_is_no_way_around_the_list_and_gitignore_cannot_take_back(tmp_path: Path) -> None:
    plant(tmp_path, ".env.production", "a.md")
    ignore(tmp_path, "", "!.env.production")
    assert found(tmp_path, Rules(include=(".env.production",))) == []


def test_all_that_any_rule_leaves_out_is_told_where_it_is_asked_for(tmp_path: Path) -> None:
    plant(tmp_path, "a.md", "b.txt", "sub/c.log", "sub/.env", ".git/HEAD", "graph.kuzu", "graph.kuzu.lock", "out/x.md")
    ignore(tmp_path, "sub", "*.log", ".env")
    rules = Rules(include=("*.md",), exclude=("out/",))
    told = {
        each.shown: each.reason
        for each in walk(tmp_path, rules, tmp_path / "graph.kuzu", explain=True)
        if isinstance(each, Excluded)
    }
    assert told == {
        ".git/": "version control",
        "b.txt": "not matched by --include",
        "graph.kuzu": "the graph itself",
        "graph.kuzu.lock": "the graph itself",
        "out/": "--exclude",
        "sub/.env": "ignored by sub/.gitignore",
        "sub/.gitignore": "not matched by --include",
        "sub/c.log": "ignored by sub/.gitignore",
    }
    assert excluded(tmp_path, rules) == {}, "git ignores it anyway"


def test_a_file_that_is_a_root_is_read_unless_its_name_is_that_of_a_secret(tmp_path: Path) -> None:
    plant(tmp_path, ".env", "yarn.lock", "node_modules/a.js")
    assert found(tmp_path / "yarn.lock") == ["yarn.lock"]
    assert found(tmp_path / "node_modules") == ["a.js"]
    assert excluded(tmp_path / ".env") == {".env": "secret (.env)"}
    assert not follows(tmp_path / ".env", Rules(), ".env")
    assert excluded_root(Path("/"), Rules()) is None, "a root without a name"
    assert found(tmp_path / ".env", ALL) == [".env"] and excluded_root(tmp_path / ".env", ALL) is None


@pytest.mark.parametrize(
    ("root", "path", "rule"),
    [
        (".kube", "config", "secret (.kube/config)"),
        (".docker", "config.json", "secret (.docker/config.json)"),
        (".aws", "credentials", "secret (.aws/credentials)"),
        (".config", "gcloud/a.db", "secret (.config/gcloud)"),
        (".config/gh", "hosts.yml", "secret (.config/gh/hosts.yml)"),
    ],
)
def test_a_secret_is_known_by_its_folder_where_that_folder_is_the_root(
    tmp_path: Path, root: str, path: str, rule: str
) -> None:
    place = tmp_path / root
    plant(place, path, "notes.md")
    assert found(place) == ["notes.md"] and list(excluded(place).values()) == [rule]
    assert not follows(place, Rules(), path) and follows(place, Rules(), "notes.md")
    assert found(place, ALL) == sorted([path, "notes.md"])
    (tmp_path / "link").symlink_to(place)
    assert found(tmp_path / "link") == ["notes.md"]


@pytest.mark.parametrize("root", [".ssh", ".SSH", ".gnupg", ".azure", ".password-store", ".config/gcloud", ".ssh/work"])
def test_a_folder_of_secrets_is_not_read_as_a_root_either(tmp_path: Path, root: str) -> None:
    place = tmp_path / root
    plant(place, "work", "a/b")
    assert found(place) == [] and list(excluded(place)) == ["a/", "work"]
    for each in (place, place / "work"):
        refused = excluded_root(each, Rules())
        assert refused and refused.reason.startswith("secret (."), each
        assert excluded_root(each, ALL) is None
    assert not follows(place, Rules(), "work") and not follows(place / "work", Rules(), "work")
    assert found(place / "work") == [] and found(place, ALL) == ["a/b", "work"]


def test_a_change_matters_exactly_where_walking_would_look(tmp_path: Path) -> None:
    plant(
        tmp_path, "a.md", ".env", "node_modules/a.js", "venv/pyvenv.cfg", "venv/lib/a.py", "build/b.md", "app/dist/a.js"
    )
    plant(tmp_path, "app/package.json")
    everything = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()]
    followed = {path for path in everything if follows(tmp_path, Rules(), path)}
    assert followed == {*found(tmp_path), "venv/pyvenv.cfg"}, "a marker that comes or goes matters to its folder"


def test_every_pattern_is_of_a_shape_that_is_compared() -> None:
    for group in GROUPS:
        for pattern in (*group.files, *group.folders):
            assert pattern.count("*") <= 1 and "?" not in pattern and "[" not in pattern
            assert "*" not in pattern or "/" not in pattern
            assert "/" not in pattern or pattern == pattern.lower()
        for pattern in group.files:
            path = pattern.replace("*", "some")
            rule = rule_for_file(path.rpartition("/")[2], path)
            assert rule is not None and rule.reason == group.reason, pattern
