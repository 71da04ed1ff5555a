"""Which language a file is written in, by its name, and where that language's grammar is.

Knows nothing of what stands in a file. A language that is not here has no grammar, and its files are read as text.
"""

from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """`grammar` is a module and its function. Languages that share a query name their nodes alike."""

    name: str
    extensions: tuple[str, ...]
    grammar: tuple[str, str]
    queries: tuple[str, ...]
    mime_type: str


LANGUAGES = {
    language.name: language
    for language in (
        Language(
            name="python",
            extensions=(".py", ".pyi", ".pyw"),
            grammar=("tree_sitter_python", "language"),
            queries=("python",),
            mime_type="text/x-python",
        ),
        Language(
            name="javascript",
            extensions=(".js", ".jsx", ".mjs", ".cjs"),
            grammar=("tree_sitter_javascript", "language"),
            queries=("ecmascript", "javascript", "jsx"),
            mime_type="text/javascript",
        ),
        Language(
            name="typescript",
            extensions=(".ts", ".mts", ".cts"),
            grammar=("tree_sitter_typescript", "language_typescript"),
            queries=("ecmascript", "typescript"),
            mime_type="text/x-typescript",
        ),
        Language(
            name="tsx",
            extensions=(".tsx",),
            grammar=("tree_sitter_typescript", "language_tsx"),
            queries=("ecmascript", "typescript", "jsx"),
            mime_type="text/x-typescript",
        ),
        Language(
            name="go",
            extensions=(".go",),
            grammar=("tree_sitter_go", "language"),
            queries=("go",),
            mime_type="text/x-go",
        ),
        Language(
            name="rust",
            extensions=(".rs",),
            grammar=("tree_sitter_rust", "language"),
            queries=("rust",),
            mime_type="text/x-rust",
        ),
        Language(
            name="java",
            extensions=(".java",),
            grammar=("tree_sitter_java", "language"),
            queries=("java",),
            mime_type="text/x-java",
        ),
        Language(
            name="c",
            extensions=(".c",),
            grammar=("tree_sitter_c", "language"),
            queries=("c",),
            mime_type="text/x-c",
        ),
        Language(
            name="cpp",
            # A header may be either; this grammar reads both.
            extensions=(".cpp", ".cc", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".h++", ".h", ".ipp", ".inl", ".tpp"),
            grammar=("tree_sitter_cpp", "language"),
            queries=("c", "cpp"),
            mime_type="text/x-c++",
        ),
        Language(
            name="csharp",
            extensions=(".cs", ".csx"),
            grammar=("tree_sitter_c_sharp", "language"),
            queries=("csharp",),
            mime_type="text/x-csharp",
        ),
        Language(
            name="ruby",
            extensions=(".rb", ".rake", ".gemspec", ".ru"),
            grammar=("tree_sitter_ruby", "language"),
            queries=("ruby",),
            mime_type="text/x-ruby",
        ),
    )
}

_BY_EXTENSION = {extension: language.name for language in LANGUAGES.values() for extension in language.extensions}
_BY_NAME = {"Rakefile": "ruby", "Gemfile": "ruby", "SConstruct": "python", "SConscript": "python"}


def language_of(path: str) -> str | None:
    """The name of the language of a file with a grammar, or None."""
    name = PurePosixPath(path).name
    return _BY_NAME.get(name) or _BY_EXTENSION.get(PurePosixPath(path).suffix.lower())
