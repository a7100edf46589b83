from django.db import migrations, models


class Migration(migrations.Migration):
    """Calls get all of their figures. New tables: rollups, events, reports of processes, arguments of calls."""

    dependencies = [
        ('telemetry', '0006_transport'),
    ]

    operations = [
        migrations.CreateModel(
            name='CallArguments',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('request_id', models.CharField(max_length=64, unique=True, verbose_name='request id')),
                ('at', models.DateTimeField(db_index=True, verbose_name='time')),
                ('expires_at', models.DateTimeField(db_index=True, verbose_name='expires')),
                ('operation', models.CharField(max_length=100)),
                ('caller', models.CharField(db_index=True, max_length=100)),
                ('names', models.JSONField(default=list, help_text='The names of the arguments.')),
                ('values', models.JSONField(help_text='The masked values by name; empty if they are not stored.', null=True)),
                ('hidden', models.JSONField(default=list, help_text='Each masked value: its name, length in characters and rule.')),
                ('answer', models.TextField(blank=True, help_text='The error that the client got.')),
            ],
            options={
                'verbose_name_plural': 'call arguments',
                'ordering': ('-at',),
                'permissions': (('replay_call', 'Can replay a recorded call'),),
            },
        ),
        migrations.CreateModel(
            name='ProcessReport',
            fields=[
                ('process', models.UUIDField(primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('web', 'Web'), ('worker', 'Worker'), ('beat', 'Beat')], max_length=8)),
                ('host', models.CharField(max_length=100)),
                ('pid', models.PositiveIntegerField(verbose_name='process id')),
                ('started_at', models.DateTimeField(verbose_name='started')),
                ('seen_at', models.DateTimeField(db_index=True, verbose_name='last report')),
                ('version', models.CharField(max_length=40)),
                ('revision', models.CharField(blank=True, help_text='The revision of the configuration it serves.', max_length=32)),
                ('report', models.JSONField(default=dict, help_text='Stores, upstreams, recorder: see telemetry/processes.py.')),
            ],
            options={
                'ordering': ('kind', 'host', 'pid'),
            },
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='argument_names',
            field=models.CharField(blank=True, default='', help_text='The names of the arguments, separated by commas.', max_length=200, verbose_name='arguments'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='arm',
            field=models.CharField(blank=True, default='', help_text="The caller's arm of a running experiment.", max_length=16, verbose_name='arm'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='attempts',
            field=models.PositiveIntegerField(default=0, help_text='Requests sent to upstreams.', verbose_name='attempts'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='chain',
            field=models.CharField(blank=True, default='', help_text='The snapshot whose pages the calls read one after another.', max_length=32, verbose_name='chain'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='claude_original_tokens',
            field=models.PositiveIntegerField(default=0, help_text='Converted by the factor of the body that was sent.', verbose_name="original tokens, by Claude's count"),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='claude_saved_tokens',
            field=models.IntegerField(default=0, help_text='Converted by the factor of the body that was sent.', verbose_name="tokens saved, net, by Claude's count"),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='client',
            field=models.CharField(blank=True, default='', help_text='The program that called, by its own word.', max_length=64, verbose_name='client'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='client_version',
            field=models.CharField(blank=True, default='', max_length=32, verbose_name='client version'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='connector',
            field=models.CharField(blank=True, default='', max_length=40, verbose_name='connector'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='error_message',
            field=models.CharField(blank=True, default='', help_text='As the client got it, secrets masked.', max_length=300, verbose_name='error message'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='is_cached',
            field=models.BooleanField(default=False, help_text='The response of an equal call was sent again.', verbose_name='from the response cache'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='largest_row_tokens',
            field=models.PositiveIntegerField(default=0, help_text='Tokens of the largest row of the page.', verbose_name='largest row'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='latency_bucket',
            field=models.PositiveSmallIntegerField(default=0, help_text='See telemetry/rollups/histogram.py.'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='origin',
            field=models.CharField(blank=True, choices=[('sluice', 'Sluice'), ('upstream', 'Upstream'), ('caller', 'Caller'), ('policy', 'Policy')], default='', help_text='Who has to act on a failed call. Empty: the call was answered.', max_length=8, verbose_name='failure origin'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='page',
            field=models.PositiveIntegerField(default=0, help_text='The place in the chain, from 1. 0: no list.', verbose_name='page'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='protocol',
            field=models.CharField(blank=True, default='', help_text='The revision of MCP; empty over REST.', max_length=16, verbose_name='protocol'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='revision',
            field=models.CharField(blank=True, default='', help_text='The revision of the configuration that the call was served under.', max_length=32, verbose_name='revision'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='total_rows',
            field=models.PositiveIntegerField(default=0, help_text='All rows of the list, sent or not.', verbose_name='rows found'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='trace_id',
            field=models.CharField(blank=True, db_index=True, default='', max_length=32, verbose_name='trace id'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='upstream',
            field=models.CharField(blank=True, default='', help_text='Empty: no upstream was needed.', max_length=64, verbose_name='upstream'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='upstream_bucket',
            field=models.PositiveSmallIntegerField(default=0, help_text='The same of the time in upstreams.'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='upstream_ms',
            field=models.FloatField(default=0.0, help_text='The part of the latency that was spent waiting for upstreams.', verbose_name='time in upstreams'),
        ),
        migrations.AddField(
            model_name='telemetryrecord',
            name='upstream_status',
            field=models.PositiveIntegerField(default=0, help_text='The HTTP status of the last attempt. 0: no answer.', verbose_name="upstream's status"),
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_index=True, verbose_name='time')),
                ('kind', models.CharField(choices=[('C', 'Change of settings'), ('D', 'Deployment'), ('B', 'Breaker'), ('F', 'Tool list'), ('A', 'Alert')], max_length=1)),
                ('subject_type', models.CharField(blank=True, help_text='The kind of object: upstream, budget, key, rule …', max_length=40)),
                ('subject', models.CharField(blank=True, help_text="The object's name.", max_length=100)),
                ('summary', models.CharField(help_text='One sentence. Secrets are called changed, never shown.', max_length=300)),
                ('actor', models.CharField(blank=True, help_text='The person or process that made the change.', max_length=150)),
                ('before', models.CharField(blank=True, max_length=300, verbose_name='old value')),
                ('after', models.CharField(blank=True, max_length=300, verbose_name='new value')),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('revision', models.CharField(blank=True, help_text='The revision of the configuration afterwards.', max_length=32)),
                ('link', models.CharField(blank=True, help_text='The page that shows more, as a path.', max_length=300)),
            ],
            options={
                'ordering': ('-at', '-pk'),
                'indexes': [models.Index(fields=['subject_type', 'subject', '-at'], name='telemetry_event_subject_time')],
            },
        ),
        migrations.CreateModel(
            name='Rollup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('level', models.PositiveIntegerField(choices=[(60, 'Minute'), (3600, 'Hour'), (86400, 'Day')])),
                ('scope', models.CharField(max_length=8)),
                ('start', models.DateTimeField()),
                ('outcome', models.CharField(blank=True, default='', max_length=16)),
                ('origin', models.CharField(blank=True, default='', max_length=8)),
                ('transport', models.CharField(blank=True, default='', max_length=16)),
                ('operation', models.CharField(blank=True, default='', max_length=100)),
                ('connector', models.CharField(blank=True, default='', max_length=40)),
                ('upstream', models.CharField(blank=True, default='', max_length=64)),
                ('upstream_status', models.PositiveIntegerField(default=0)),
                ('error_reason', models.CharField(blank=True, default='', max_length=64)),
                ('caller', models.CharField(blank=True, default='', max_length=100)),
                ('client', models.CharField(blank=True, default='', max_length=64)),
                ('protocol', models.CharField(blank=True, default='', max_length=16)),
                ('arm', models.CharField(blank=True, default='', max_length=16)),
                ('calls', models.BigIntegerField(default=0)),
                ('oversized_calls', models.BigIntegerField(default=0)),
                ('cached_calls', models.BigIntegerField(default=0)),
                ('list_calls', models.BigIntegerField(default=0)),
                ('paginated_list_calls', models.BigIntegerField(default=0)),
                ('later_pages', models.BigIntegerField(default=0)),
                ('counted_calls', models.BigIntegerField(default=0)),
                ('counted_estimate', models.BigIntegerField(default=0)),
                ('total_latency_ms', models.FloatField(default=0)),
                ('total_attempts', models.BigIntegerField(default=0)),
                ('total_upstream_ms', models.FloatField(default=0)),
                ('total_response_bytes', models.BigIntegerField(default=0)),
                ('total_original_tokens', models.BigIntegerField(default=0)),
                ('total_estimated_tokens', models.BigIntegerField(default=0)),
                ('total_claude_tokens', models.BigIntegerField(default=0)),
                ('total_baseline_tokens', models.BigIntegerField(default=0)),
                ('latency', models.TextField(default='', help_text='A histogram, see telemetry/rollups/histogram.py.')),
                ('upstream_latency', models.TextField(default='', help_text='The same of the time in upstreams.')),
            ],
            options={
                'indexes': [models.Index(fields=['level', 'scope', 'start'], name='telemetry_rollup_level_start')],
            },
        ),
        migrations.CreateModel(
            name='StaleBucket',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('level', models.PositiveIntegerField(choices=[(60, 'Minute'), (3600, 'Hour'), (86400, 'Day')])),
                ('start', models.DateTimeField()),
                ('marks', models.PositiveBigIntegerField(default=1)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('level', 'start'), name='telemetry_one_mark_per_bucket')],
            },
        ),
    ]
