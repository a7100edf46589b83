"""The purpose and the language of a file, by its path alone."""

import re
from enum import StrEnum


class PathKind(StrEnum):
    """The values are words of the messages."""

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

# The first that matches holds.
_RULES: tuple[tuple[PathKind, re.Pattern[str]], ...] = (
    (
        PathKind.CI,
        re.compile(
            r"(^|/)\.(github/(workflows|actions)|circleci|gitlab-ci|buildkite|woodpecker)|(^|/)(\.goreleaser\.ya?ml|\.?lychee\w*|\.travis\.yml|appveyor\.yml"
            r"|azure-pipelines|Jenkinsfile|\.drone\.yml|renovate\.json|\.renovaterc|dependabot\.yml|\.?codecov\.ya?ml)"
        ),
    ),
    (
        PathKind.DEPENDENCIES,
        re.compile(
            r"(^|/)(package(-lock)?\.json|yarn\.lock|pnpm-lock\.yaml|pnpm-workspace\.yaml|bun\.lockb?|Cargo\.(toml|lock)"
            r"|go\.(mod|sum)|requirements[\w.-]*\.(txt|in|lock)|poetry\.lock|uv\.lock|Pipfile(\.lock)?|Gemfile(\.lock)?"
            r"|[\w.-]+\.gemspec|composer\.(json|lock)|flake\.lock|gradle/libs\.versions\.toml)$"
        ),
    ),
    (
        PathKind.TEST,
        re.compile(
            r"(^|/)(__tests?__|__snapshots__|tests?|specs?|e2e|testdata|fixtures?|__fixtures__|playground|test-utils"
            r"|dts-test|[\w-]+-tests?)/|(^|/)test_[^/]*\.py$|(_test|_spec)\.\w+$|[.-](test|spec|test-d|bench)\.\w+$"
            r"|(^|/)conftest\.py$|\.snap$|Tests?\.(java|kt|cs)$"
        ),
    ),
    (
        PathKind.DOCS,
        re.compile(
            r"(^|/)(docs?|documentation|website|www|man|guides?|skills)/|\.(md|mdx|rst|adoc|txt|1|5)$"
            r"|(^|/)(README|CHANGELOG|CHANGES|LICENSE|CONTRIBUTING|AUTHORS|CODEOWNERS|SECURITY)\b[^/]*$",
            re.IGNORECASE,
        ),
    ),
    (
        PathKind.BUILD,
        re.compile(
            r"(^|/)(Makefile|CMakeLists\.txt|Dockerfile[^/]*|docker-compose[^/]*|setup\.(py|cfg)|pyproject\.toml|tox\.ini"
            r"|noxfile\.py|build\.(rs|gradle(\.kts)?)|pom\.xml|Justfile|justfile|Rakefile|flake\.nix|lerna\.json|nx\.json"
            r"|turbo\.json|tsconfig[^/]*\.json|(rollup|webpack|vite|vitest|babel|jest|eslint|prettier|commitlint|tsup|tsdown"
            r"|release|size-limit)[.\w-]*\.(js|ts|mjs|cjs|mts|json)|biome\.jsonc?|rustfmt\.toml|clippy\.toml)$"
            r"|\.(cmake|mk|gradle|nix|bazel|bzl)$|(^|/)\.[^/]+$|(^|/)\.(husky|vscode|changeset|config|cargo|devcontainer)/"
            r"|^(scripts?|tools?|hack|build|ci)/"
        ),
    ),
    (
        PathKind.DATA,
        re.compile(r"\.(json|ya?ml|toml|csv|tsv|xml|svg|png|jpe?g|gif|ico|woff2?|po|mo|ini|cfg|lock|sql)$"),
    ),
)


def kind_of(path: str) -> PathKind:
    return next((kind for kind, pattern in _RULES if pattern.search(path)), PathKind.SOURCE)


def language_of(path: str) -> str:
    """The language whose patterns of definitions apply; empty where there are none."""
    name = path.rpartition("/")[2]
    return _LANGUAGE_OF.get(name.rpartition(".")[2].lower(), "") if "." in name else ""
