from django.db import migrations, models


def _move(apps, schema_editor):
    """Lists that came as tables wherever that was smaller still do."""
    for name in ("TokenBudget", "HistoricalTokenBudget"):
        model = apps.get_model("context_protection", name)
        model.objects.filter(tables_when_smaller=True).update(list_format="auto")
        model.objects.filter(tables_when_smaller=False).update(list_format="items")


class Migration(migrations.Migration):

    dependencies = [
        ('context_protection', '0005_plain_help_texts'),
    ]

    operations = [
        migrations.AddField(
            model_name='historicaltokenbudget',
            name='list_format',
            field=models.CharField(blank=True, choices=[('items', 'items'), ('table', 'a table'), ('auto', 'a table wherever that is smaller')], help_text='The form of lists, unless the call requests a format.', max_length=10, null=True),
        ),
        migrations.AddField(
            model_name='tokenbudget',
            name='list_format',
            field=models.CharField(blank=True, choices=[('items', 'items'), ('table', 'a table'), ('auto', 'a table wherever that is smaller')], help_text='The form of lists, unless the call requests a format.', max_length=10, null=True),
        ),
        migrations.RunPython(_move, migrations.RunPython.noop),
        migrations.RemoveField(
            model_name='historicaltokenbudget',
            name='tables_when_smaller',
        ),
        migrations.RemoveField(
            model_name='tokenbudget',
            name='tables_when_smaller',
        ),
        migrations.AlterField(
            model_name='historicaltokenbudget',
            name='token_budget_threshold',
            field=models.PositiveIntegerField(blank=True, help_text='Answers above so many estimated tokens come as a preview or a smaller page.', null=True),
        ),
        migrations.AlterField(
            model_name='tokenbudget',
            name='token_budget_threshold',
            field=models.PositiveIntegerField(blank=True, help_text='Answers above so many estimated tokens come as a preview or a smaller page.', null=True),
        ),
    ]
