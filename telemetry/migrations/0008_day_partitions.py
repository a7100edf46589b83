from django.db import migrations

from telemetry.rollups.histogram import bucket_of

TABLE = "telemetry_telemetryrecord"
OLD = "telemetry_calls_before"
SEQUENCE = "telemetry_call_id_seq"
FACTOR = "CASE WHEN claude_tokens > 0 AND estimated_tokens > 0 THEN 1.0 * claude_tokens / estimated_tokens ELSE 1 END"
# The new columns of calls that were stored before these existed: the value of a column without one, and how it is found.
COMPUTED = {
    "claude_original_tokens": ("0", f"ROUND(original_tokens * ({FACTOR}))"),
    "claude_saved_tokens": ("0", f"ROUND(saved_tokens * ({FACTOR}))"),
    "origin": (
        "''",
        "CASE WHEN outcome <> 'error' THEN '' WHEN error_reason LIKE 'upstream%' THEN 'upstream' "
        "WHEN error_reason IN ('internal_error', 'store_unavailable', 'timeout') THEN 'sluice' "
        "WHEN error_reason IN ('rate_limited', 'forbidden') THEN 'policy' ELSE 'caller' END",
    ),
    "latency_bucket": ("0", "sluice_bucket(latency_ms)"),
}
# A call that was measured with these columns keeps what was measured.
EXPRESSIONS = {
    name: f"CASE WHEN {name} <> {empty} THEN {name} ELSE {expression} END"
    for name, (empty, expression) in COMPUTED.items()
}
BUCKET = """
    CREATE OR REPLACE FUNCTION pg_temp.sluice_bucket(milliseconds double precision) RETURNS smallint IMMUTABLE LANGUAGE sql AS $$
        SELECT (CASE WHEN milliseconds > 0.001
            THEN LEAST(TRUNC(LN(milliseconds * 1000) / LN(2::double precision) * 16), 640) ELSE 0 END)::smallint $$"""


def mark(schema_editor):
    """Marks the buckets of all calls, so that their rollups are built: hours, and minutes of the last two days."""
    is_sqlite = schema_editor.connection.vendor == "sqlite"
    recent = "datetime('now', '-2 days')" if is_sqlite else "now() - interval '2 days'"
    for seconds, unit, form, condition in (
        (60, "minute", "%Y-%m-%d %H:%M:00", f"WHERE created_at > {recent}"),
        (3600, "hour", "%Y-%m-%d %H:00:00", ""),
    ):
        start = f"strftime('{form}', created_at)" if is_sqlite else f"date_trunc('{unit}', created_at, 'UTC')"
        schema_editor.execute(
            f"INSERT INTO telemetry_stalebucket (level, start, marks) "
            f"SELECT {seconds}, {start}, COUNT(*) FROM {TABLE} {condition} GROUP BY 2 "
            "ON CONFLICT (level, start) DO NOTHING",
            params=None,
        )


def partition(apps, schema_editor):
    """Completes older calls. On Postgres, moves them to a table with a partition for each day. Postgres 15 has no
    identity columns in partitioned tables, so a sequence gives the ids."""
    connection = schema_editor.connection
    model = apps.get_model("telemetry", "TelemetryRecord")
    mark(schema_editor)
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        connection.connection.create_function("sluice_bucket", 1, bucket_of, deterministic=True)
        columns = ", ".join(f"{name} = {expression}" for name, expression in EXPRESSIONS.items())
        schema_editor.execute(f"UPDATE {TABLE} SET {columns}", params=None)
    if connection.vendor != "postgresql":
        return

    def run(statement):
        schema_editor.execute(statement, params=None)

    run(f"ALTER TABLE {TABLE} RENAME TO {OLD}")
    run(f"CREATE SEQUENCE {SEQUENCE}")
    run(f"SELECT setval('{SEQUENCE}', (SELECT COALESCE(MAX(id), 0) + 1 FROM {OLD}), false)")
    run(f"CREATE TABLE {TABLE} (LIKE {OLD} INCLUDING DEFAULTS) PARTITION BY RANGE (created_at)")
    run(f"ALTER TABLE {TABLE} ALTER COLUMN id SET DEFAULT nextval('{SEQUENCE}')")
    run(f"ALTER SEQUENCE {SEQUENCE} OWNED BY {TABLE}.id")
    run(f"CREATE TABLE {TABLE}_default PARTITION OF {TABLE} DEFAULT")
    run(f"""
        DO $$ DECLARE day date; BEGIN
            FOR day IN
                SELECT DISTINCT (created_at AT TIME ZONE 'UTC')::date FROM {OLD}
                UNION SELECT (now() AT TIME ZONE 'UTC')::date + n FROM generate_series(0, 3) AS n
            LOOP
                EXECUTE format('CREATE TABLE {TABLE}_%s PARTITION OF {TABLE} FOR VALUES FROM (%L) TO (%L)',
                    to_char(day, 'YYYYMMDD'), day::text || ' 00:00+00', (day + 1)::text || ' 00:00+00');
            END LOOP;
        END $$""")
    run(BUCKET)
    columns = [field.column for field in model._meta.concrete_fields]
    values = [EXPRESSIONS.get(name, name).replace("sluice_bucket", "pg_temp.sluice_bucket") for name in columns]
    run(f"INSERT INTO {TABLE} ({', '.join(columns)}) SELECT {', '.join(values)} FROM {OLD}")
    run("DROP FUNCTION pg_temp.sluice_bucket")  # it would live as long as the connection
    run(f"DROP TABLE {OLD}")
    run(f"ALTER TABLE {TABLE} ADD PRIMARY KEY (id, created_at)")
    for statement in schema_editor._model_indexes_sql(model):
        run(str(statement))
    run(f"CREATE INDEX telemetry_call_brin ON {TABLE} USING brin (created_at) WITH (pages_per_range = 32)")


def unpartition(apps, schema_editor):
    """On Postgres, moves the calls back to one table."""
    if schema_editor.connection.vendor != "postgresql":
        return

    def run(statement):
        schema_editor.execute(statement, params=None)

    run(f"ALTER TABLE {TABLE} RENAME TO {OLD}")
    run(f"CREATE TABLE {TABLE} (LIKE {OLD} INCLUDING DEFAULTS)")
    run(f"INSERT INTO {TABLE} SELECT * FROM {OLD}")
    run(f"ALTER TABLE {TABLE} ALTER COLUMN id DROP DEFAULT")
    run(f"DROP TABLE {OLD}")
    run(f"ALTER TABLE {TABLE} ADD PRIMARY KEY (id)")
    run(f"ALTER TABLE {TABLE} ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY")
    run(f"SELECT setval(pg_get_serial_sequence('{TABLE}', 'id'), (SELECT COALESCE(MAX(id), 0) + 1 FROM {TABLE}), false)")
    for statement in schema_editor._model_indexes_sql(apps.get_model("telemetry", "TelemetryRecord")):
        run(str(statement))


class Migration(migrations.Migration):
    """Older calls get their new figures. On Postgres, the calls are partitioned by day."""

    dependencies = [
        ("telemetry", "0007_whole_calls"),
    ]

    operations = [
        migrations.RunPython(partition, unpartition),
    ]
