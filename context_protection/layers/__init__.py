"""The layers of settings that make a policy: defaults, what connectors declare, the configuration file, the
environment, the admin, the caller's arm.

Nothing here reads the database: models.py reads it, and `configuration/` caches the result.
"""
