"""Paths tell what a file is for."""

import pytest

from gateway.connectors.codebase.tree.path_kinds import PathKind, is_vendored, kind_of


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/app.py", PathKind.SOURCE),
        ("src/app.ts", PathKind.SOURCE),
        ("src/latest/contest.py", PathKind.SOURCE),
        ("src/manifest.rs", PathKind.SOURCE),
        ("tests/test_app.py", PathKind.TEST),
        ("t/lib/plan.pl", PathKind.TEST),
        ("UITests/Given_A.cs", PathKind.TEST),
        ("crates/cli/src/tests.rs", PathKind.TEST),
        ("web/login.cy.ts", PathKind.TEST),
        ("src/__tests__/app.ts", PathKind.TEST),
        ("src/app.spec.ts", PathKind.TEST),
        ("pkg/app_test.go", PathKind.TEST),
        ("src/test/java/FooTest.java", PathKind.TEST),
        ("benches/parse.rs", PathKind.TEST),
        ("tests/data/input.md", PathKind.TEST),
        ("specs/012-search/spec.md", PathKind.DOCS),
        ("bench/results.md", PathKind.DOCS),
        ("docs/guide.md", PathKind.DOCS),
        ("docs/guide/index.js", PathKind.DOCS),
        ("examples/server.py", PathKind.DOCS),
        ("README", PathKind.DOCS),
        ("CHANGELOG.md", PathKind.DOCS),
        (".github/workflows/ci.yml", PathKind.CI),
        ("frontend/package.json", PathKind.DEPENDENCIES),
        ("examples/counter/pubspec.yaml", PathKind.DEPENDENCIES),
        ("mix.exs", PathKind.DEPENDENCIES),
        ("ci/py3.12-requirements.txt", PathKind.DEPENDENCIES),
        (".azure-devops-tests.yml", PathKind.CI),
        ("Makefile", PathKind.BUILD),
        (".editorconfig", PathKind.BUILD),
        ("settings.gradle.kts", PathKind.BUILD),
        ("gradlew.bat", PathKind.BUILD),
        ("src/Shop/Shop.csproj", PathKind.BUILD),
        ("data/places.csv", PathKind.DATA),
    ],
)
def test_a_path_tells_what_a_file_is_for(path: str, kind: PathKind):
    assert kind_of(path) is kind


@pytest.mark.parametrize(
    ("path", "vendored"),
    [
        ("vendor/github.com/a/b/c.go", True),
        ("src/pip/_vendor/urllib3/util.py", True),
        ("third_party/zlib/inflate.c", True),
        ("lib/thirdparty/a.js", True),
        ("src/vendor.py", False),
        ("src/vendors/list.py", False),
    ],
)
def test_a_path_tells_whether_a_file_is_a_copy_of_another_projects(path: str, vendored: bool):
    assert is_vendored(path) is vendored
