"""What a run leaves out unless the user says `--no-default-excludes`: secrets, dependencies, caches, build output.

Owns the list. A pattern is a name with at most one `*`; `folder/name` is a name in a folder of that name. Upper and
lower case are the same. Every entry of every folder is checked on every run, so a name that matches nothing must cost
next to nothing.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from types import MappingProxyType

_SECRET = "secret"  # noqa: S105 -- the reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Names that are left out for the same reason."""

    reason: str
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    beside: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """Folders that are left out only beside one of these files: `build` may hold notes, but not beside a manifest."""
    holding: tuple[str, ...] = ()
    """A folder with one of these in it is left out, whatever its name."""


_PYTHON = ("pyproject.toml", "setup.py", "setup.cfg")
_GRADLE = ("build.gradle", "build.gradle.kts")

GROUPS = (
    Group(
        reason=_SECRET,
        folders=(".ssh", ".gnupg", ".azure", ".password-store", ".config/gcloud"),
        files=(
            *(".env", ".env.*", ".envrc", "*.env", "*.env~", "*.env.bak"),
            *("*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.pkcs12", "*.ppk", "*.jks", "*.keystore", "*.keytab"),
            *("*.kdb", "*.kdbx", "*.agekey", "*.ovpn"),
            *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"),
            *(".netrc", "_netrc", ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".htpasswd", ".git-credentials"),
            *(".npmrc", ".pypirc", ".dockercfg", ".dockerconfigjson", ".s3cfg", ".boto", "rclone.conf", ".vault-token"),
            *(".aws/credentials", ".docker/config.json", ".kube/config", ".config/gh/hosts.yml"),
            *("kubeconfig", "kubeconfig.yaml", "kubeconfig.yml", "*.kubeconfig"),
            *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml"),
            *(".dvc/config.local", ".streamlit/secrets.toml", ".huggingface/token", "kaggle.json"),
            *("credentials.json", "application_default_credentials.json", "client_secret*.json"),
            *("service-account*.json", "service_account*.json", "*-service-account.json", "*_service_account.json"),
            *("secrets.json", "secrets.toml", "secrets.yaml", "secrets.yml"),
            *("*.tfstate", "*.tfstate.backup", "*.tfvars", "*.tfvars.json"),
            *(".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history"),
        ),
    ),
    Group(
        reason="virtual environment",
        folders=(".venv", ".virtualenv", ".conda", ".pixi", "__pypackages__"),
        holding=("pyvenv.cfg", "conda-meta"),
    ),
    Group(
        reason="dependencies",
        folders=(
            *("site-packages", "*.dist-info", "*.egg-info", ".eggs", "node_modules", "bower_components"),
            *("jspm_packages", ".pnpm-store", ".yarn", "vendor/bundle"),
        ),
        beside={
            "vendor": ("go.mod", "composer.json"),
            "pods": ("Podfile",),
            "deps": ("mix.exs",),
        },
    ),
    Group(
        reason="cache",
        folders=(
            *("__pycache__", ".cache", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".pytype", ".tox"),
            *(".nox", ".ipynb_checkpoints", ".sass-cache", ".parcel-cache", ".turbo", ".gradle", ".jekyll-cache"),
            *(".dart_tool", ".ccache", ".nyc_output"),
        ),
        holding=("CACHEDIR.TAG",),
    ),
    Group(
        reason="tool folder",
        folders=(
            *(".idea", ".vscode", ".vs", ".fleet", ".metals", ".bloop", ".terraform", ".terragrunt-cache"),
            *(".vagrant", ".serverless", ".aws-sam", ".direnv", ".dvc", ".ropeproject", ".spyproject"),
        ),
    ),
    Group(
        reason="build output",
        folders=(".next", ".nuxt", ".output", ".svelte-kit", ".angular", ".docusaurus", ".expo", "htmlcov"),
        beside={
            "build": (*_PYTHON, *_GRADLE, "package.json", "CMakeLists.txt"),
            "dist": (*_PYTHON, "package.json"),
            "target": ("Cargo.toml", "pom.xml", "build.sbt"),
            "coverage": ("package.json",),
            "_build": ("conf.py", "mix.exs"),
            "_site": ("_config.yml",),
            "site": ("mkdocs.yml",),
        },
    ),
    Group(
        reason="lock file",
        files=(
            *("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"),
            *("deno.lock", "poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "pixi.lock", "conda-lock.yml"),
            *("Cargo.lock", "Gemfile.lock", "composer.lock", "go.sum", "go.work.sum", "mix.lock", "pubspec.lock"),
            *("Podfile.lock", "Package.resolved", "packages.lock.json", "gradle.lockfile", "renv.lock", "flake.lock"),
            *(".terraform.lock.hcl",),
        ),
    ),
    Group(reason="source map", files=("*.js.map", "*.mjs.map", "*.cjs.map", "*.ts.map", "*.css.map")),
    Group(reason="minified", files=("*.min.js", "*.min.mjs", "*.min.cjs", "*.min.css")),
    Group(
        reason="file of an editor or system",
        files=(".DS_Store", "Thumbs.db", "desktop.ini", "*.swp", "*.swo", "~$*", ".#*"),
    ),
)
# They show which secrets are needed, or are the public half of a key, and hold none.
EXAMPLES = ("*.example", "*.sample", "*.template", "*.dist", "example.env", "sample.env", "template.env", "*.pub")


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultExclude:
    """Why an entry is left out."""

    reason: str
    pattern: str

    @property
    def is_secret(self) -> bool:
        return self.reason == _SECRET

    def __str__(self) -> str:
        return f"{self.reason} ({self.pattern})"


class _Names:
    """Patterns, compared with one name at a time."""

    def __init__(self, patterns: Iterable[tuple[str, str]]) -> None:
        self._exact: dict[str, DefaultExclude] = {}
        self._paths: dict[str, list[DefaultExclude]] = {}
        self._globs: list[tuple[str, str, DefaultExclude]] = []
        for reason, pattern in patterns:
            rule = DefaultExclude(reason=reason, pattern=pattern)
            text = pattern.lower()
            if "/" in text:
                self._paths.setdefault(text.rpartition("/")[2], []).append(rule)
            elif "*" in text:
                beginning, _, ending = text.partition("*")
                self._globs.append((beginning, ending, rule))
            else:
                self._exact[text] = rule
        names = (*self._exact, *self._paths, *(ending for _, ending, _ in self._globs))
        # What comes after the last dot of a name: it rules out nearly every name.
        self._lasts = frozenset(name.rpartition(".")[2] for name in names)
        firsts = [beginning[0] for beginning, ending, _ in self._globs if not ending]
        self._firsts = frozenset((*firsts, *map(str.upper, firsts)))
        self._beginnings = tuple(beginning for beginning, _, _ in self._globs if beginning)
        self._endings = tuple(ending for beginning, ending, _ in self._globs if not beginning)

    def rule_for(self, name: str, path: str) -> DefaultExclude | None:
        if name[name.rfind(".") + 1 :].lower() not in self._lasts and name[0] not in self._firsts:
            return None
        name = name.lower()
        if rule := self._exact.get(name):
            return rule
        for rule in self._paths.get(name, ()):
            if f"/{path.lower()}".endswith(f"/{rule.pattern}"):
                return rule
        if not (name.endswith(self._endings) or name.startswith(self._beginnings)):
            return None
        for beginning, ending, rule in self._globs:
            if name.startswith(beginning) and name.endswith(ending):
                return rule
        return None


_FILES = _Names((group.reason, pattern) for group in GROUPS for pattern in group.files)
_FOLDERS = _Names((group.reason, pattern) for group in GROUPS for pattern in group.folders)
_EXAMPLES = _Names(("example", pattern) for pattern in EXAMPLES)
_BESIDE = {folder: (group.reason, files) for group in GROUPS for folder, files in group.beside.items()}
_HOLDING = {name: group.reason for group in GROUPS for name in group.holding}
MARKERS = frozenset(_HOLDING)
"""A folder with one of these names in it is left out."""


def rule_for_file(name: str, path: str) -> DefaultExclude | None:
    rule = _FILES.rule_for(name, path)
    return None if rule and rule.is_secret and _EXAMPLES.rule_for(name, path) else rule


def rule_for_secret(place: PurePath) -> DefaultExclude | None:
    """Why a file with this whole path is taken for a secret: by its name, or by a folder that it is in."""
    rule = rule_for_file(place.name, place.as_posix()) if place.name else None
    return rule if rule and rule.is_secret else rule_for_secret_folder(place.parent)


def rule_for_secret_folder(place: PurePath) -> DefaultExclude | None:
    """Why all that is in a folder is taken for a secret: by its name, or by that of a folder above."""
    for folder in (place, *place.parents):
        if folder.name and (rule := _FOLDERS.rule_for(folder.name, folder.as_posix())) and rule.is_secret:
            return rule
    return None


def rule_for_folder(name: str, path: str, beside: Container[str]) -> DefaultExclude | None:
    """By its name; `beside` are the names in the folder that it is in."""
    if rule := _FOLDERS.rule_for(name, path):
        return rule
    reason, files = _BESIDE.get(name.lower(), ("", ()))
    for file in files:
        if file in beside:
            return DefaultExclude(reason=reason, pattern=f"{name} beside {file}")
    return None


def rule_for_content(names: Container[str]) -> DefaultExclude | None:
    """By the names of what is in a folder."""
    for marker, reason in _HOLDING.items():
        if marker in names:
            return DefaultExclude(reason=reason, pattern=f"with {marker}")
    return None
