from django.db import migrations, models


class Migration(migrations.Migration):
    """The columns of a call follow from telemetry.measurement, and a transport is any text. The tables stay as they are."""

    dependencies = [
        ('telemetry', '0005_withheld_fields'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[
            migrations.RenameField('telemetryrecord', 'door', 'transport'),
            migrations.RenameField('rejectedkey', 'door', 'transport'),
            migrations.AlterField(
                model_name='rejectedkey',
                name='transport',
                field=models.CharField(db_column='door', help_text='The way the last call came in.', max_length=16),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='caller',
                field=models.CharField(blank=True, default='', help_text='The name of the API key or client.', max_length=100, verbose_name='caller'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='chunking_used',
                field=models.BooleanField(default=False, verbose_name='chunked'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='claude_tokens',
                field=models.PositiveIntegerField(default=0, help_text='0: this body was not counted.', verbose_name="tokens sent, by Claude's count"),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='endpoint',
                field=models.CharField(blank=True, default='', max_length=200, verbose_name='endpoint'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='error_reason',
                field=models.CharField(blank=True, default='', max_length=64, verbose_name='error reason'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='estimated_tokens',
                field=models.PositiveIntegerField(default=0, help_text='Estimate for the body that was sent: characters / 4 + 20 %.', verbose_name='tokens sent'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='item_count',
                field=models.PositiveIntegerField(default=0, verbose_name='items sent'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='kind',
                field=models.CharField(blank=True, default='', help_text='The kind of result: list, record, text or action.', max_length=8, verbose_name='kind'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='latency_ms',
                field=models.FloatField(default=0.0, verbose_name='latency'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='missing_fields',
                field=models.CharField(blank=True, default='', help_text="Fields of the preview that upstream's record does not have, separated by commas.", max_length=400, verbose_name='fields not found upstream'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='operation',
                field=models.CharField(blank=True, default='', max_length=100, verbose_name='operation'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='original_tokens',
                field=models.PositiveIntegerField(default=0, help_text='Estimate for the payload, had it not been protected.', verbose_name='original tokens'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='outcome',
                field=models.CharField(blank=True, choices=[('plain', 'Plain'), ('paginated', 'Paginated'), ('summarized', 'Summarized'), ('chunked', 'Chunked'), ('error', 'Error')], default='plain', help_text='What protection did to the answer.', max_length=16, verbose_name='outcome'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='oversized',
                field=models.BooleanField(default=False, help_text='The original was over the token budget, and was reduced (FR-030).', verbose_name='oversized'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='pagination_used',
                field=models.BooleanField(default=False, verbose_name='paginated'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='request_id',
                field=models.CharField(blank=True, db_index=True, default='', max_length=64, verbose_name='request id'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='response_bytes',
                field=models.PositiveIntegerField(default=0, help_text='Bytes sent.', verbose_name='size'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='summarization_used',
                field=models.BooleanField(default=False, verbose_name='summarized'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='threshold',
                field=models.PositiveIntegerField(default=0, help_text='The budget this call had.', verbose_name='token budget'),
            ),
            migrations.AlterField(
                model_name='telemetryrecord',
                name='transport',
                field=models.CharField(blank=True, db_column='door', default='', help_text='The way the call came in.', max_length=16, verbose_name='transport'),
            ),
        ])
    ]
