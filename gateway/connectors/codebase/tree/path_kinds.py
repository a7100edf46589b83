"""The kind and the language of a file, by its path alone. Commit messages name these kinds, and searches rank all but
source lower."""

import re
from enum import StrEnum


class PathKind(StrEnum):
    """The values appear in commit messages."""

    TEST = "tests"
    DOCS = "docs"
    CI = "ci"
    BUILD = "build"
    DEPENDENCIES = "dependencies"
    DATA = "data"
    SOURCE = "source"


_LANGUAGES = {
    "python": "py pyi",
    "javascript": "js jsx mjs cjs ts tsx mts cts vue svelte astro",
    "go": "go",
    "rust": "rs",
    "java": "java kt kts scala groovy cs swift",
    "ruby": "rb rake",
    "c": "c h cc cpp cxx hpp hh",
    "php": "php",
    "shell": "sh bash zsh fish",
    "lua": "lua",
    "style": "css scss sass less styl html hbs",
}
_LANGUAGE_OF = {ending: language for language, endings in _LANGUAGES.items() for ending in endings.split()}

# The first match wins.
_RULES: tuple[tuple[PathKind, re.Pattern[str]], ...] = (
    (
        PathKind.CI,
        re.compile(
            r"(^|/)\.(github/(workflows|actions)|circleci|gitlab-ci|buildkite|woodpecker)|(^|/)(\.goreleaser\.ya?ml"
            r"|\.?lychee\w*|\.travis\.yml|appveyor\.yml|\.?azure-(pipelines|devops)|Jenkinsfile|\.drone\.yml|renovate\.json"
            r"|\.renovaterc|dependabot\.yml|\.?codecov\.ya?ml)"
        ),
    ),
    (
        PathKind.DEPENDENCIES,
        re.compile(
            r"(^|/)(package(-lock)?\.json|yarn\.lock|pnpm-lock\.yaml|pnpm-workspace\.yaml|bun\.lockb?|Cargo\.(toml|lock)"
            r"|go\.(mod|sum)|[\w.-]*requirements[\w.-]*\.(txt|in|lock)|poetry\.lock|uv\.lock|Pipfile(\.lock)?|Gemfile(\.lock)?"
            r"|[\w.-]+\.gemspec|composer\.(json|lock)|flake\.lock|gradle/libs\.versions\.toml|pubspec\.(yaml|lock)"
            r"|mix\.(exs|lock)|rebar\.(config|lock)|Package\.(swift|resolved)|Podfile(\.lock)?|vcpkg\.json"
            r"|Directory\.Packages\.props)$"
        ),
    ),
    # Prose, except in folders of tests, where it may be the input of tests.
    (
        PathKind.DOCS,
        re.compile(r"^(?!.*(test|fixture|golden|snapshot|playground|(^|/)t/)).*\.(mdx?|rst|adoc)$", re.IGNORECASE),
    ),
    (
        PathKind.TEST,
        re.compile(
            r"(^|/)((?i:__tests?__|__snapshots__|__mocks__|__fixtures__|t|tests?|testing|unittests?|specs?|e2e|cypress|testdata"
            r"|testutils?|fixtures?|goldens?|snapshots?|playground|dts-test|benchmarks?|benches|bench|\.?tests?[._-][\w.-]+"
            r"|[\w.-]*[._-]tests?)|[\w.-]*Tests?)/"
            r"|(^|/)(test_[^/]*\.\w+|tests?\.\w+|conftest\.py|Test[A-Z]\w*\.(java|kt))$"
            r"|[._-](tests?|specs?|cy|e2e|test-d|bench)\.\w+$|\.(snap|t)$"
            r"|(Tests?|Spec|TestCase)\.(java|kt|scala|groovy|cs|swift|php|m|mm|cpp)$"
        ),
    ),
    (
        PathKind.DOCS,
        re.compile(
            r"(^|/)(docs?|documentation|website|www|man|guides?|skills|examples?|samples?)/"
            r"|\.(mdx?|rst|adoc|txt|textile|rdoc|pod|tex|[1-9])$"
            r"|(^|/)(README|CHANGELOG|CHANGES|HISTORY|NEWS|NOTICE|LICEN[SC]E|COPYING|CONTRIBUTING|CONTRIBUTORS|AUTHORS"
            r"|CODEOWNERS|SECURITY)\b[^/]*$",
            re.IGNORECASE,
        ),
    ),
    (
        PathKind.BUILD,
        re.compile(
            r"(^|/)(Makefile|CMakeLists\.txt|Dockerfile[^/]*|docker-compose[^/]*|setup\.(py|cfg)|pyproject\.toml|tox\.ini"
            r"|noxfile\.py|build\.rs|gradlew(\.bat)?|pom\.xml|Justfile|justfile|Rakefile|flake\.nix|lerna\.json|nx\.json"
            r"|turbo\.json|tsconfig[^/]*\.json|(rollup|webpack|vite|vitest|babel|jest|eslint|prettier|commitlint|tsup|tsdown"
            r"|release|size-limit)[.\w-]*\.(js|ts|mjs|cjs|mts|json)|biome\.jsonc?|rustfmt\.toml|clippy\.toml)$"
            r"|\.(cmake|mk|am|ac|gradle(\.kts)?|nix|bazel|bzl|sln|(cs|fs|vb)proj)$|(^|/)\.[^/]+$"
            r"|(^|/)\.(husky|vscode|changeset|config|cargo|devcontainer)/"
            r"|^(scripts?|tools?|hack|build|ci)/"
        ),
    ),
    (
        PathKind.DATA,
        re.compile(
            r"\.(json5?|ya?ml|toml|csv|tsv|xml|svg|png|jpe?g|gif|ico|woff2?|pot?|mo|ini|cfg|conf|env|properties|plist|map"
            r"|golden|out|in|lock|sql|sublime-\w+|tmlanguage)$",
            re.IGNORECASE,
        ),
    ),
)


_VENDORED = re.compile(r"(^|/)_?(vendor|vendored|third[_-]?party|3rd-?party)/", re.IGNORECASE)


def kind_of(path: str) -> PathKind:
    return next((kind for kind, pattern in _RULES if pattern.search(path)), PathKind.SOURCE)


def is_vendored(path: str) -> bool:
    """Whether the file is a copy of another project's."""
    return bool(_VENDORED.search(path))


def language_of(path: str) -> str:
    """The language whose patterns find the file's definitions; empty if there are none."""
    name = path.rpartition("/")[2]
    return _LANGUAGE_OF.get(name.rpartition(".")[2].lower(), "") if "." in name else ""
