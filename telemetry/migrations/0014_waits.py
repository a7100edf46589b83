from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('telemetry', '0013_kept_tools'),
    ]

    operations = [
        migrations.AddField(
            model_name='telemetryrecord',
            name='waits',
            field=models.CharField(blank=True, default='', help_text='Requests with their status, and pauses, in ms and in their order.', max_length=200, verbose_name='waits for upstreams'),
        ),
    ]
