"""All settings of Sluice. Without environment variables, it runs embedded:

SQLite, an in-memory channel layer, and Celery worker and beat inside the web process. `DATABASE_URL` and `REDIS_URL`
select the production topology. `.env.example` documents each variable.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from context_protection.core.cache_budget import DEFAULT_MEGABYTES
from context_protection.core.policy import SETTINGS
from context_protection.stores import shared_store
from gateway.connectors import with_module
from gateway.data_directory import private_database, private_directory, private_secret
from gateway.environment import LOG_LEVELS, REDIS, WEB, Environment, check_secret_key
from gateway.process import place
from gateway.upstreams.addresses import allowed_networks

env = Environment()
BASE_DIR = Path(__file__).resolve().parent.parent
env.read_file(BASE_DIR / ".env")

DATA_DIR = private_directory(Path(env.str("DATA_DIR", default=str(BASE_DIR / "var"))))

# -- Process ----------------------------------------------------------------------------------------

DEBUG = env.bool("DEBUG", default=False)
HOST = env.str("HOST", default="127.0.0.1")
PORT = env.whole("PORT", "", default=8000, most=65_535)
ALLOWED_HOSTS = env.hosts("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.origins("CSRF_TRUSTED_ORIGINS")

SECRET_KEY = env.str("SECRET_KEY", default="") or private_secret(DATA_DIR / "secret_key")
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
check_secret_key(SECRET_KEY)

MCP_TRANSPORT = env.str("MCP_TRANSPORT", default="stdio")
MCP_PORT = env.str("MCP_PORT", default="")
MCP_STATEFUL = env.bool("MCP_STATEFUL", default=False)
TOOL_LIST_BUDGET = env.whole("TOOL_LIST_BUDGET", "tokens", default=8000)
LAZY_CLIENTS = env.list("LAZY_CLIENTS", default=[])
SLUICE_API_KEY = env.str("SLUICE_API_KEY", default="")

# -- Applications -----------------------------------------------------------------------------------

INSTALLED_APPS = [
    "gateway.process.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "simple_history",
    "context_protection",
    "telemetry",
    "gateway",
    "gateway.access",
    "gateway.logins",
    "gateway.upstreams",
    "gateway.staff.rollouts",
    "gateway.staff.experiments",
    *with_module("apps"),
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "gateway.process.static_files.StaticFiles",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "simple_history.middleware.HistoryRequestMiddleware",
]

ROOT_URLCONF = "gateway.urls"
ASGI_APPLICATION = "gateway.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "telemetry.banner.open_alerts",
            ]
        },
    }
]

# -- Stores -----------------------------------------------------------------------------------------

REDIS_URL = env.address("REDIS_URL", REDIS, example="redis://host:6379/0")
DATABASE_URL = env.str("DATABASE_URL", default=f"sqlite:///{DATA_DIR / 'sluice.sqlite3'}")
DATABASES = {"default": env.database("DATABASE_URL", DATABASE_URL)}
EMBEDDED_DATABASE = DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3"
if EMBEDDED_DATABASE:
    # The REST framework would load Postgres's fields and their driver (8 MB); None makes that import fail.
    sys.modules.setdefault("django.contrib.postgres.fields", None)  # type: ignore[arg-type]
    if DATABASES["default"]["NAME"] != ":memory:":
        private_database(Path(DATABASES["default"]["NAME"]))
    DATABASES["default"] |= {
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-2000;",
        },
    }
    # A write by another connection or process empties SQLite's page cache. Mapped pages need not be read again.
    mapped_megabytes = 256 if place.is_worker() else 32
    DATABASES["default"]["OPTIONS"]["init_command"] += f"PRAGMA mmap_size={mapped_megabytes * 2**20};"
else:
    from gateway.process.postgres import base as postgres

    DATABASES["default"] |= {
        "ENGINE": "gateway.process.postgres",
        "CONN_MAX_AGE": 0,  # the pool holds the connections
        "OPTIONS": {
            "connect_timeout": 2,
            "pool": {
                "connection_class": postgres.BoundedConnection,
                "min_size": 2,
                "max_size": env.whole("DATABASE_POOL", "connections", default=32, least=2, most=10_000),
                "timeout": postgres.POOL_SLICE,
                "reconnect_timeout": 2,  # after this the pool gives up; it connects again on the next request
            },
        },
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The URL of Redis, or of the store in the parent process of `serve --workers`, which speaks Redis's protocol.
SHARED_URL = REDIS_URL or env.str(shared_store.VARIABLE, default="")
if SHARED_URL:
    from context_protection.stores import redis_client

    CACHES = {
        "default": {
            "BACKEND": "django_redis.cache.RedisCache",
            "LOCATION": SHARED_URL,
            "OPTIONS": redis_client.options(SHARED_URL),
        }
    }
else:
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
if REDIS_URL:
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": {"hosts": [REDIS_URL]}}}
else:
    CHANNEL_LAYERS = {"default": {"BACKEND": "gateway.process.channel_layer.EmbeddedChannelLayer"}}

# -- Context protection -----------------------------------------------------------------------------

# Every process sees a change of keys or budgets. With Redis the change is published; without it, processes on
# this machine watch the modification time of this file (context_protection/configuration/revisions.py).
REVISION_FILE = DATA_DIR / "revision"
SHARED_REVISIONS = env.bool("SHARED_REVISIONS", default=bool(REDIS_URL) or not EMBEDDED_DATABASE)

# Policy settings from the environment. Budgets in the admin override them.
CONTEXT_PROTECTION = {
    name: env(setting.variable, cast=setting.value_type if setting.value_type in (int, bool) else str, default=None)
    for name, setting in SETTINGS.items()
    if setting.variable
}
if env.bool("TABLES_WHEN_SMALLER", default=False):  # the older name of LIST_FORMAT=auto
    CONTEXT_PROTECTION["list_format"] = CONTEXT_PROTECTION["list_format"] or "auto"

# A YAML or JSON file of policy settings, below the environment. It is read again when it changes.
CONFIG_FILE = env.str("CONFIG_FILE", default="")

# The limit of all caches of a process together; 0: no answers are cached. ANSWER_CACHE_MB is the older name.
CACHE_MB = env.whole(
    "CACHE_MB", "megabytes", default=env.whole("ANSWER_CACHE_MB", "megabytes", default=DEFAULT_MEGABYTES)
)

# -- Credentials of upstreams -----------------------------------------------------------------------

# The first key encrypts; all of them and SECRET_KEY decrypt (gateway/upstreams/auth/vault.py).
CREDENTIAL_KEYS = env.list("CREDENTIAL_KEYS", default=[])
if any(len(key) < 32 for key in CREDENTIAL_KEYS):
    raise ImproperlyConfigured(
        "CREDENTIAL_KEYS has a key of fewer than 32 characters: credentials could be guessed. "
        "Make one with: python -c 'import secrets; print(secrets.token_urlsafe(48))'"
    )

# -- Requests ---------------------------------------------------------------------------------------

LARGEST_BODY = 4 * 1024 * 1024  # bytes, also for a WebSocket message; an import in the admin may be larger
LARGEST_DOCUMENT = 40 * 1024 * 1024  # bytes of an OpenAPI document, uploaded by staff or fetched
FILE_UPLOAD_MAX_MEMORY_SIZE = DATA_UPLOAD_MAX_MEMORY_SIZE = LARGEST_BODY  # nothing from unknown clients goes to disk
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000  # staff choose an imported API's operations on one page

# -- Upstreams --------------------------------------------------------------------------------------

try:
    ALLOW_PRIVATE_UPSTREAMS = allowed_networks(env.str("ALLOW_PRIVATE_UPSTREAMS", default=""))
except ValueError as error:
    raise ImproperlyConfigured(f"ALLOW_PRIVATE_UPSTREAMS: {error}") from None
LONGEST_PAUSE = 86_400  # seconds between two looks for changes
NSIP_BASE_URL = env.address("NSIP_BASE_URL", WEB, default="http://nsipsearch.nsip.org/api", example="http://host/api")
HOSTAWAY_BASE_URL = env.address(
    "HOSTAWAY_BASE_URL", WEB, default="https://api.hostaway.com/v1", example="https://host/v1"
)
HOSTAWAY_ACCOUNT_ID = env.str("HOSTAWAY_ACCOUNT_ID", default="")
HOSTAWAY_API_SECRET = env.str("HOSTAWAY_API_SECRET", default="")
HOSTAWAY_WEBHOOK_SECRET = env.str("HOSTAWAY_WEBHOOK_SECRET", default="")
HOSTAWAY_SYNC_SECONDS = env.whole("HOSTAWAY_SYNC_SECONDS", "seconds", default=300, least=1, most=LONGEST_PAUSE)
MCP_SERVERS_FILE = env.str("MCP_SERVERS_FILE", default="")
SSL_CERT_FILE = env.certificates("SSL_CERT_FILE")  # Python reads the variable itself

# -- Projects ---------------------------------------------------------------------------------------

PROJECT_ROOTS = env.list("PROJECT_ROOTS", default=[])
if relative := [root for root in PROJECT_ROOTS if not Path(root).is_absolute()]:
    raise ImproperlyConfigured(
        f"PROJECT_ROOTS has {relative[0]!r}; expected absolute paths, separated by commas, such as /srv/code."
    )
PROJECT_SYNC_SECONDS = env.whole("PROJECT_SYNC_SECONDS", "seconds", default=5, least=1, most=LONGEST_PAUSE)

CODEBASE_CPU_PRICE = env.float("CODEBASE_CPU_PRICE", default=0.01)  # dollars per second of work, for maxCost
if CODEBASE_CPU_PRICE < 0:
    raise ImproperlyConfigured(f"CODEBASE_CPU_PRICE is {CODEBASE_CPU_PRICE}; expected dollars a second, such as 0.01.")

CODEBASE_INDEX = env.str("CODEBASE_INDEX", default="sqlite" if EMBEDDED_DATABASE else "postgres")
if CODEBASE_INDEX not in ("sqlite", "postgres") or (CODEBASE_INDEX == "postgres" and EMBEDDED_DATABASE):
    raise ImproperlyConfigured(
        f"CODEBASE_INDEX is {CODEBASE_INDEX!r}; expected sqlite, or postgres if DATABASE_URL is a Postgres database."
    )

CODEBASE_MODEL = env.choice("CODEBASE_MODEL", ("off", "client", "anthropic"), default="off")
CODEBASE_MODEL_NAME = env.str("CODEBASE_MODEL_NAME", default="claude-haiku-4-5")
CODEBASE_MODEL_INPUT_PRICE = env.float("CODEBASE_MODEL_INPUT_PRICE", default=1.0)  # dollars for a million tokens
CODEBASE_MODEL_OUTPUT_PRICE = env.float("CODEBASE_MODEL_OUTPUT_PRICE", default=5.0)
if min(CODEBASE_MODEL_INPUT_PRICE, CODEBASE_MODEL_OUTPUT_PRICE) < 0:
    raise ImproperlyConfigured(
        f"CODEBASE_MODEL_INPUT_PRICE is {CODEBASE_MODEL_INPUT_PRICE}, CODEBASE_MODEL_OUTPUT_PRICE is "
        f"{CODEBASE_MODEL_OUTPUT_PRICE}; expected dollars for a million tokens, such as 1.0 and 5.0."
    )
CODEBASE_MODEL_MAX_TOKENS = env.int("CODEBASE_MODEL_MAX_TOKENS", default=1_000)
CODEBASE_MODEL_SECONDS = env.float("CODEBASE_MODEL_SECONDS", default=60.0)
if CODEBASE_MODEL_MAX_TOKENS < 100 or CODEBASE_MODEL_SECONDS < 1:
    raise ImproperlyConfigured(
        f"CODEBASE_MODEL_MAX_TOKENS is {CODEBASE_MODEL_MAX_TOKENS}, CODEBASE_MODEL_SECONDS is "
        f"{CODEBASE_MODEL_SECONDS:g}; expected at least 100 tokens and 1 second for an answer of the model."
    )
# If set, audited bodies are also sent to the provider to be counted (gateway/dispatch/audit.py).
ANTHROPIC_API_KEY = env.str("ANTHROPIC_API_KEY", default="")
ANTHROPIC_BASE_URL = env.address("ANTHROPIC_BASE_URL", WEB, default="https://api.anthropic.com", example="https://host")
if CODEBASE_MODEL == "anthropic" and not ANTHROPIC_API_KEY:
    raise ImproperlyConfigured("CODEBASE_MODEL is anthropic, but there is no key; set ANTHROPIC_API_KEY.")
if CODEBASE_MODEL == "anthropic" and find_spec("anthropic") is None:
    raise ImproperlyConfigured(
        "CODEBASE_MODEL is anthropic, but its client is not installed; run "
        ".venv/bin/pip install --require-hashes -r requirements-anthropic.lock"
    )

# -- Tasks ------------------------------------------------------------------------------------------

CELERY_BROKER_URL = REDIS_URL or "memory://localhost/"
CELERY_BROKER_TRANSPORT_OPTIONS = (
    {
        "visibility_timeout": 3600,
        "unacked_restore_throttle": 1,
        "socket_timeout": 5,
        "socket_connect_timeout": 2,
    }
    if REDIS_URL
    else {"polling_interval": 0.1}
)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_TIME_LIMIT = 300
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
CELERY_IMPORTS = ("gateway.process.task_processes",)
CELERY_BEAT_SCHEDULE = {
    "purge-expired-walks": {"task": "context_protection.tasks.purge_expired_walks", "schedule": 60.0},
    "build-rollups": {"task": "telemetry.tasks.build_rollups", "schedule": 10.0},
    "ensure-partitions": {"task": "telemetry.tasks.ensure_partitions", "schedule": 3600.0},
    "check-alerts": {"task": "telemetry.tasks.check_alerts", "schedule": 15.0},
    "probe-quiet-upstreams": {"task": "gateway.tasks.probe_quiet_upstreams", "schedule": 30.0},
    "check-rollouts": {"task": "gateway.rollouts.tasks.check_rollouts", "schedule": 5.0},
    "purge-shadow-sizes": {"task": "gateway.experiments.tasks.purge_old_shadow_sizes", "schedule": 3600.0},
    "purge-logins": {"task": "gateway.logins.tasks.purge", "schedule": 3600.0},
    "purge-old-calls": {"task": "telemetry.tasks.purge_old_calls", "schedule": 3600.0},
}

# -- Telemetry --------------------------------------------------------------------------------------

MOST_DAYS = 36_500
TELEMETRY_RETENTION_DAYS = env.whole("TELEMETRY_RETENTION_DAYS", "days", default=30, least=1, most=MOST_DAYS)
TELEMETRY_MINUTE_HOURS = env.whole("TELEMETRY_MINUTE_HOURS", "hours", default=48, least=1, most=24 * MOST_DAYS)
TELEMETRY_HOUR_DAYS = env.whole("TELEMETRY_HOUR_DAYS", "days", default=400, least=1, most=MOST_DAYS)
TELEMETRY_ARGUMENT_DAYS = env.whole("TELEMETRY_ARGUMENT_DAYS", "days", default=7, most=MOST_DAYS)  # 0: none are stored
OVERSIZED_ALERT_SHARE = env.share("OVERSIZED_ALERT_SHARE", default=0.05)
OVERSIZED_ALERT_WINDOW_MINUTES = env.whole("OVERSIZED_ALERT_WINDOW_MINUTES", "minutes", default=15, least=1, most=1440)
OVERSIZED_ALERT_MIN_CALLS = env.whole("OVERSIZED_ALERT_MIN_CALLS", "calls", default=20)
OVERSIZED_ALERT_RECOVERY = env.share("OVERSIZED_ALERT_RECOVERY", default=0.8)
AUDIT_SHARE = env.share("AUDIT_SHARE", default=0.01)
AUDIT_MODEL = env.str("AUDIT_MODEL", default="claude-opus-4-8")
OTEL_EXPORTER_OTLP_ENDPOINT = env.address("OTEL_EXPORTER_OTLP_ENDPOINT", WEB, example="http://collector:4318")
ALERT_EMAILS = env.emails("ALERT_EMAILS")
PUBLIC_URL = env.address("PUBLIC_URL", WEB, example="https://host") or f"http://{HOST}:{PORT}"
EMAIL_URL = env.address(
    "EMAIL_URL", env.EMAIL_SCHEMES, default="consolemail://", example="smtp://user:password@host:25"
)
vars().update(env.email_url_config(EMAIL_URL))
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="sluice@localhost")

# -- REST -------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["gateway.access.rest.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["context_protection.renderers.ProtectedJSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["gateway.api.parsers.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "gateway.api.errors.answer_error",
    "URL_FORMAT_OVERRIDE": None,  # `format` is an argument of operations
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Sluice",
    "DESCRIPTION": "REST transport of Sluice: the same operations, arguments and envelopes as its MCP tools.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "gateway.api.schema.with_components",
    ],
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

# -- Browser ----------------------------------------------------------------------------------------

PUBLIC_PAGES = env.bool(
    "PUBLIC_PAGES", default=False
)  # whether figures and the API's documentation need no key or login

LANGUAGE_CODE = "en"
FORMAT_MODULE_PATH = "gateway.formats"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
SERVESTATIC_USE_FINDERS = True
SERVESTATIC_AUTOREFRESH = DEBUG
CSRF_FAILURE_VIEW = "gateway.error_pages.csrf_failure"

PASSWORD_HASHERS = ["gateway.logins.hasher.YieldingHasher"]
AUTHENTICATION_BACKENDS = ["gateway.logins.backend.ThrottledBackend"]
LOGIN_URL = "/admin/login/"
REQUIRE_SECOND_FACTOR = env.bool("REQUIRE_SECOND_FACTOR", default=False)
SESSION_COOKIE_AGE = 12 * 3600  # seconds of inactivity after which a session ends (gateway/logins/sessions.py)

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
# With https: HSTS for a year, and plain http is redirected (MCP over http is rejected: gateway/access/handshake.py).
SECURE_COOKIES = env.bool("SECURE_COOKIES", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = SECURE_COOKIES
SECURE_HSTS_SECONDS = 365 * 86_400 if SECURE_COOKIES else 0
# Sluice is one host of a domain, so it does not set policy for subdomains or for browsers' preload lists.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.bool("BEHIND_PROXY", default=False) else None
FORWARDED_ALLOW_IPS = env.proxies("FORWARDED_ALLOW_IPS", default=["127.0.0.1"])
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "frame-ancestors": ["'none'"],
        "form-action": ["'self'"],
        "base-uri": ["'self'"],
    }
}
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# -- Logs -------------------------------------------------------------------------------------------

# If rich is installed, as by development tools, structlog would load it (5 MB), although our tracebacks are plain.
sys.modules.setdefault("rich", None)  # type: ignore[arg-type]
LOG_LEVEL = env.choice("LOG_LEVEL", LOG_LEVELS, default="INFO")
LOG_FORMAT = env.choice("LOG_FORMAT", ("console", "json"), default="console")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "gateway.process.logs.line_formatter", "style": LOG_FORMAT}},
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "stream": "ext://telemetry.log_stream.stderr",
            "formatter": "line",
        }
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        **{
            name: {"level": LOG_LEVEL}
            for name in ("gateway", "context_protection", "telemetry", "django.server", "uvicorn.error")
        },
        # Telemetry records bad requests, so they are not logged.
        "django.request": {"level": "ERROR"},
        "django.security": {"level": "CRITICAL"},
    },
}
