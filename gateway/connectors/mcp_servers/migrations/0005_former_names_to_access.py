from django.db import migrations


class Migration(migrations.Migration):
    """Gives the table of former names to the app access, with its rows. Its migration 0005 goes on from here."""

    dependencies = [
        ("mcp_servers", "0004_tools_switched_on_and_off"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.AlterModelTable("FormerToolName", "access_formertoolname")],
            state_operations=[migrations.DeleteModel("FormerToolName")],
        ),
    ]
