import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """Rules, channels, notifications. An alert gets a rule, a subject and a state; what it knew of its condition keeps its values."""

    dependencies = [
        ('telemetry', '0009_saved_views'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='alert',
            name='telemetry_one_open_alert_per_kind',
        ),
        migrations.AlterField(  # a default for the way back
            model_name='alert',
            name='kind',
            field=models.CharField(default='', max_length=32),
        ),
        migrations.RenameField(
            model_name='alert',
            old_name='opened_at',
            new_name='started_at',
        ),
        migrations.RenameField(
            model_name='alert',
            old_name='cleared_at',
            new_name='ended_at',
        ),
        migrations.RenameField(
            model_name='alert',
            old_name='last_checked_at',
            new_name='checked_at',
        ),
        migrations.RenameField(
            model_name='alert',
            old_name='share',
            new_name='value',
        ),
        migrations.RenameField(
            model_name='alert',
            old_name='peak_share',
            new_name='peak',
        ),
        migrations.RenameField(
            model_name='alert',
            old_name='threshold_share',
            new_name='limit',
        ),
        migrations.RenameField(
            model_name='alert',
            old_name='calls',
            new_name='sample',
        ),
        migrations.RenameField(
            model_name='alert',
            old_name='oversized_calls',
            new_name='affected',
        ),
        migrations.CreateModel(
            name='AlertRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('error_rate', 'Too many errors'), ('slow', 'Slow'), ('upstream_down', 'Upstream down'), ('oversized_share', 'Oversized answers'), ('refused_keys', 'Keys refused'), ('token_drift', 'Token counts drift'), ('lost_records', 'Records lost'), ('paging_failures', 'Paging fails'), ('tool_list_flipped', 'Tool list changed')], default='error_rate', max_length=32)),
                ('name', models.CharField(max_length=100, unique=True)),
                ('is_enabled', models.BooleanField(default=True, verbose_name='enabled')),
                ('tools', models.CharField(blank=True, max_length=500)),
                ('connectors', models.CharField(blank=True, max_length=500)),
                ('upstreams', models.CharField(blank=True, max_length=500)),
                ('per', models.CharField(choices=[('all', 'for all together'), ('tool', 'per tool'), ('upstream', 'per upstream')], default='all', max_length=8, verbose_name='one alert')),
                ('origins', models.CharField(blank=True, default='sluice,upstream', max_length=60)),
                ('limit', models.FloatField(default=0)),
                ('recovery_limit', models.FloatField(default=0)),
                ('limits_by_tool', models.JSONField(blank=True, default=dict)),
                ('minimum', models.PositiveIntegerField(default=0, verbose_name='smallest sample')),
                ('window_seconds', models.PositiveIntegerField(default=300, validators=[django.core.validators.MaxValueValidator(86400)])),
                ('pending_seconds', models.PositiveIntegerField(default=0, validators=[django.core.validators.MaxValueValidator(86400)])),
                ('recovery_seconds', models.PositiveIntegerField(default=0, validators=[django.core.validators.MaxValueValidator(86400)])),
                ('no_data', models.CharField(choices=[('no_data', 'say No data'), ('ok', 'count as recovered'), ('keep', 'keep the state'), ('fire', 'count as over the limit')], default='no_data', max_length=8, verbose_name='no calls at all')),
                ('runbook', models.CharField(blank=True, max_length=300)),
                ('shipped_as', models.CharField(editable=False, max_length=32, null=True, unique=True)),
                ('follows_settings', models.BooleanField(default=False, editable=False)),
                ('memory', models.JSONField(default=dict, editable=False)),
                ('changed_by', models.CharField(blank=True, editable=False, max_length=150)),
                ('changed_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('checked_at', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'verbose_name': 'alert rule',
                'ordering': ('name',),
            },
        ),
        migrations.CreateModel(
            name='AlertTransition',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('what', models.CharField(choices=[('state', 'State'), ('acknowledged', 'Acknowledged'), ('silenced', 'Silenced'), ('unsilenced', 'Silence ended')], default='state', max_length=12)),
                ('before', models.CharField(blank=True, choices=[('normal', 'Normal'), ('pending', 'Pending'), ('alerting', 'Firing'), ('recovering', 'Recovering'), ('no_data', 'No data'), ('error', 'Error')], max_length=10)),
                ('after', models.CharField(blank=True, choices=[('normal', 'Normal'), ('pending', 'Pending'), ('alerting', 'Firing'), ('recovering', 'Recovering'), ('no_data', 'No data'), ('error', 'Error')], max_length=10)),
                ('value', models.FloatField(blank=True, null=True)),
                ('limit', models.FloatField(blank=True, null=True)),
                ('message', models.CharField(blank=True, max_length=500)),
                ('by', models.CharField(blank=True, max_length=150)),
            ],
            options={
                'verbose_name': 'alert transition',
                'ordering': ('at', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='Channel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60, unique=True)),
                ('kind', models.CharField(choices=[('email', 'Email'), ('webhook', 'Webhook'), ('slack', 'Slack format')], max_length=8)),
                ('address', models.CharField(blank=True, help_text='Email: addresses, separated by commas. Webhook: where it listens. Slack: empty, as its address is its secret.', max_length=500)),
                ('sealed_secret', models.TextField(blank=True, editable=False)),
                ('is_enabled', models.BooleanField(default=True, verbose_name='enabled')),
                ('follows_settings', models.BooleanField(default=False, editable=False)),
            ],
            options={
                'ordering': ('name',),
            },
        ),
        migrations.CreateModel(
            name='Notification',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('sent', 'Sent'), ('failed', 'Failed'), ('dropped', 'Not sent')], default='queued', max_length=8)),
                ('attempts', models.PositiveSmallIntegerField(default=0, validators=[django.core.validators.MinValueValidator(0)])),
                ('result', models.CharField(blank=True, help_text='What the channel answered last.', max_length=300)),
                ('queued_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('due_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ('queued_at', 'pk'),
            },
        ),
        migrations.AlterModelOptions(
            name='alert',
            options={'ordering': ('-started_at', '-pk')},
        ),
        migrations.AddField(
            model_name='alert',
            name='acknowledged_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='alert',
            name='acknowledged_by',
            field=models.CharField(blank=True, max_length=150),
        ),
        migrations.AddField(
            model_name='alert',
            name='details',
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name='alert',
            name='fired_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='alert',
            name='note',
            field=models.CharField(blank=True, max_length=300),
        ),
        migrations.AddField(
            model_name='alert',
            name='silenced_by',
            field=models.CharField(blank=True, max_length=150),
        ),
        migrations.AddField(
            model_name='alert',
            name='silenced_until',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='alert',
            name='since',
            field=models.DateTimeField(default=django.utils.timezone.now, help_text='When it came into this state.'),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='alert',
            name='subject',
            field=models.CharField(blank=True, help_text='A tool or upstream; empty: all.', max_length=200),
        ),
        migrations.AddField(
            model_name='alert',
            name='told_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='alert',
            name='affected',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AlterField(
            model_name='alert',
            name='checked_at',
            field=models.DateTimeField(verbose_name='last checked'),
        ),
        migrations.AlterField(
            model_name='alert',
            name='ended_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='alert',
            name='limit',
            field=models.FloatField(default=0),
        ),
        migrations.AlterField(
            model_name='alert',
            name='message',
            field=models.CharField(help_text='What was seen last.', max_length=500),
        ),
        migrations.AlterField(
            model_name='alert',
            name='peak',
            field=models.FloatField(blank=True, null=True, verbose_name='highest value'),
        ),
        migrations.AlterField(
            model_name='alert',
            name='sample',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AlterField(
            model_name='alert',
            name='started_at',
            field=models.DateTimeField(verbose_name='began'),
        ),
        migrations.AlterField(
            model_name='alert',
            name='state',
            field=models.CharField(choices=[('normal', 'Normal'), ('pending', 'Pending'), ('alerting', 'Firing'), ('recovering', 'Recovering'), ('no_data', 'No data'), ('error', 'Error')], default='pending', max_length=10),
        ),
        migrations.AlterField(
            model_name='alert',
            name='value',
            field=models.FloatField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='alert',
            name='rule',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to='telemetry.alertrule'),
        ),
        migrations.AddField(
            model_name='alerttransition',
            name='alert',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='transitions', to='telemetry.alert'),
        ),
        migrations.AddField(
            model_name='alertrule',
            name='channels',
            field=models.ManyToManyField(blank=True, related_name='rules', to='telemetry.channel'),
        ),
        migrations.AddField(
            model_name='notification',
            name='channel',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='notifications', to='telemetry.channel'),
        ),
        migrations.AddField(
            model_name='notification',
            name='transition',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notifications', to='telemetry.alerttransition'),
        ),
        migrations.AddIndex(
            model_name='notification',
            index=models.Index(fields=['state', 'due_at'], name='telemetry_due_messages'),
        ),
        migrations.AddConstraint(
            model_name='notification',
            constraint=models.UniqueConstraint(fields=('transition', 'channel'), name='telemetry_one_message_per_channel'),
        ),
    ]
