"""The project's settings. What protects it is marked; nothing else knows of protection."""

import os
from pathlib import Path

DATA = Path(os.environ["BROWNFIELD_DATA"])
SECRET_KEY = "of-the-existing-project-and-long-enough"
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "tests.brownfield.urls"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": DATA / "db.sqlite3",
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "rest_framework",
    "tests.brownfield",
    # Protection:
    "simple_history",
    "context_protection",
    "telemetry",
]
MIDDLEWARE = [
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # Protection, next to the views:
    "context_protection.middleware.ProtectionMiddleware",
]
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.BasicAuthentication"],
    # Protection:
    "DEFAULT_PAGINATION_CLASS": "context_protection.pagination.WalkPagination",
    "DEFAULT_RENDERER_CLASSES": ["context_protection.renderers.ProtectedJSONRenderer"],
}
REVISION_FILE = DATA / "revision"
CONTEXT_PROTECTION_RECORDER = os.environ.get("BROWNFIELD_RECORDER", "telemetry.recorder.record_answer")
