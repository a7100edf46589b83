"""What docker/ promises, read from its files: no Docker engine is needed."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import load_command_class

from gateway.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
COMPOSE_TEXT = (ROOT / "docker/compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "docker/Dockerfile").read_text()
CADDYFILE = (ROOT / "docker/Caddyfile").read_text()
README = (ROOT / "docker/README.md").read_text()
IN_IMAGE = [line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"]

OURS = ["web", "worker", "beat", "migrate"]
ONE_SHOT = ["migrate"]
LASTING = [name for name in SERVICES if name not in ONE_SHOT]


def test_the_services_are_those_of_the_design() -> None:
    assert set(SERVICES) == {*OURS, "proxy", "postgres", "redis"}


# -- Images -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_pins_a_version_of_its_image(name: str) -> None:
    assert re.fullmatch(r"[a-z]+:\d[\w.-]*", SERVICES[name]["image"])


@pytest.mark.parametrize("name", OURS)
def test_our_services_are_built_from_this_checkout(name: str) -> None:
    assert SERVICES[name]["image"] == f"sluice:{VERSION}"
    assert SERVICES[name]["build"] == {"context": "..", "dockerfile": "docker/Dockerfile"}


def test_stores_are_of_the_versions_that_the_design_names() -> None:
    assert SERVICES["postgres"]["image"].startswith("postgres:15")
    assert SERVICES["redis"]["image"].startswith("redis:7")


def test_the_image_holds_what_the_locks_name_and_nothing_else() -> None:
    installs = re.findall(r"pip install .*?-r /tmp/(\S+)", DOCKERFILE.replace("\\\n", ""))
    assert installs == ["requirements.lock", "requirements-ctok.lock"]
    assert DOCKERFILE.count("--require-hashes") == len(installs)
    assert "--no-deps --ignore-requires-python -r /tmp/requirements-ctok.lock" in DOCKERFILE
    assert not re.findall(r"\w+://(?!127\.0\.0\.1)", DOCKERFILE), "no address of a registry"
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)) == {"python:3.11-slim-bookworm"}


def test_the_image_runs_as_an_ordinary_user() -> None:
    assert re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE) == ["sluice"]


@pytest.mark.parametrize("name", OURS)
def test_the_data_directory_is_that_users_alone(name: str) -> None:
    (uid,) = re.findall(r"useradd .*--uid (\d+)", DOCKERFILE)
    assert f"/data:mode=0700,uid={uid}" in SERVICES[name]["tmpfs"]


def test_the_build_sees_only_what_is_listed() -> None:
    patterns = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] not in "#!"]
    assert patterns[0] == "*"
    assert not [name for name in IN_IMAGE if name.startswith((".", "var")) or not (ROOT / name).exists()]


def test_what_goes_into_the_image_is_enough_to_start(tmp_path: Path) -> None:
    app = tmp_path / "app"
    app.mkdir()
    for name in IN_IMAGE:
        source = ROOT / name
        shutil.copytree(source, app / name) if source.is_dir() else shutil.copy(source, app)
    environment = {"DATA_DIR": str(tmp_path / "data"), "PYTHONDONTWRITEBYTECODE": "1"}
    serving = "import django; django.setup(); import gateway.asgi, gateway.celery"
    for arguments in (["manage.py", "check", "--fail-level", "WARNING"], ["-c", serving]):
        run = subprocess.run(
            [sys.executable, *arguments],
            cwd=app,
            env={**environment, "DJANGO_SETTINGS_MODULE": "gateway.settings"},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr


# -- Processes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OURS)
def test_our_processes_share_one_environment(name: str) -> None:
    environment = SERVICES[name]["environment"]
    assert environment == SERVICES["web"]["environment"]
    assert environment["DATABASE_URL"].endswith("@postgres:5432/sluice")
    assert environment["REDIS_URL"] == "redis://redis:6379/0"


def test_every_variable_means_something() -> None:
    settings = (ROOT / "gateway/settings.py").read_text()
    assert not [name for name in SERVICES["web"]["environment"] if f'"{name}"' not in settings]


def test_there_is_exactly_one_beat() -> None:
    assert [name for name in OURS if {"beat", "-B", "--beat"} & set(SERVICES[name]["command"])] == ["beat"]
    assert SERVICES["beat"]["deploy"]["replicas"] == 1


@pytest.mark.parametrize("name", ["web", "migrate"])
def test_management_commands_are_given_flags_that_they_have(name: str) -> None:
    python, manage, command, *arguments = SERVICES[name]["command"]
    assert (python, manage) == ("python", "manage.py")
    app = {"serve": "gateway", "migrate": "django.core"}[command]
    load_command_class(app, command).create_parser("manage.py", command).parse_args(arguments)


def test_webs_leave_the_worker_and_beat_to_others_and_can_be_many() -> None:
    web = SERVICES["web"]
    assert "--web-only" in web["command"]
    assert not {"container_name", "ports"} & set(web)
    assert re.fullmatch(r"\$\{WEB_REPLICAS:-\d}", web["deploy"]["replicas"])


@pytest.mark.parametrize("name", ["web", "worker", "beat"])
def test_processes_start_on_a_migrated_database(name: str) -> None:
    waits_for = SERVICES[name]["depends_on"]
    assert waits_for["migrate"] == {"condition": "service_completed_successfully"}
    assert waits_for["redis"] == {"condition": "service_healthy"}
    assert SERVICES["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}


@pytest.mark.parametrize("name", LASTING)
def test_what_lasts_is_checked_restarted_and_bounded(name: str) -> None:
    service = SERVICES[name]
    assert service["healthcheck"]["test"]
    assert service["restart"] == "unless-stopped"
    assert re.fullmatch(r"\d+M", service["deploy"]["resources"]["limits"]["memory"])


@pytest.mark.parametrize("name", SERVICES)
def test_logs_are_rotated(name: str) -> None:
    assert set(SERVICES[name]["logging"]["options"]) == {"max-size", "max-file"}


def test_a_web_is_healthy_when_it_can_answer_calls() -> None:
    assert "http://127.0.0.1:8000/readyz" in SERVICES["web"]["healthcheck"]["test"][-1]
    assert "/readyz" in DOCKERFILE.partition("HEALTHCHECK")[2]


def test_a_migration_is_run_once_and_not_again() -> None:
    assert SERVICES["migrate"]["restart"] == "no"


# -- What can be reached ----------------------------------------------------------------------------


def test_only_the_proxy_is_published_and_only_to_this_machine_unless_asked() -> None:
    assert [name for name in SERVICES if "ports" in SERVICES[name]] == ["proxy"]
    assert all(port.startswith("${BIND:-127.0.0.1}:") for port in SERVICES["proxy"]["ports"])


def test_the_stores_are_on_a_network_without_a_way_out() -> None:
    assert COMPOSE["networks"]["stores"]["internal"] is True
    assert SERVICES["postgres"]["networks"] == SERVICES["redis"]["networks"] == ["stores"]


def test_the_proxy_finds_every_web_and_holds_no_stream_back() -> None:
    host, port = re.findall(r"dynamic a (\S+) (\d+)", CADDYFILE)[0]
    assert host in SERVICES
    assert port in SERVICES[host]["command"]
    assert "flush_interval -1" in CADDYFILE


def test_data_is_kept_in_named_volumes() -> None:
    for name in ("postgres", "redis", "proxy"):
        named = [volume.partition(":")[0] for volume in SERVICES[name]["volumes"] if not volume.startswith(".")]
        assert named
        assert set(named) <= set(COMPOSE["volumes"])


# -- Secrets ----------------------------------------------------------------------------------------


def test_no_secret_is_written_down() -> None:
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search("SECRET|PASSWORD|TOKEN", name):
                assert re.fullmatch(r"\$\{" + name + r":\?[^}]+}", value)
    for password in re.findall(r"://\w+:(.+?)@", COMPOSE_TEXT):
        assert re.fullmatch(r"\$\{\w+:\?[^}]+}", password)


@pytest.mark.parametrize("name", ["SECRET_KEY", "POSTGRES_PASSWORD"])
def test_a_secret_that_is_missing_is_asked_for_with_the_way_to_make_it(name: str) -> None:
    sentences = set(re.findall(r"\$\{" + name + r":\?([^}]+)}", COMPOSE_TEXT))
    assert sentences == {"docker/README.md has the command that makes .env"}
    assert re.search(rf"printf '.*{name}=%s", README)


def test_every_variable_of_compose_is_explained() -> None:
    variables = set(re.findall(r"\$\{(\w+)", COMPOSE_TEXT))
    assert not [name for name in variables if f"`{name}`" not in README]
