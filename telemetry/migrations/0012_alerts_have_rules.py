import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Every alert has a rule."""

    dependencies = [
        ('telemetry', '0011_alerts_of_rules'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='alert',
            name='kind',
        ),
        migrations.RemoveField(
            model_name='alert',
            name='window_minutes',
        ),
        migrations.AlterField(
            model_name='alert',
            name='rule',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to='telemetry.alertrule'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(fields=['ended_at', '-started_at'], name='telemetry_alert_ended'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('rule', 'subject'), name='telemetry_one_episode_at_a_time'),
        ),
    ]
