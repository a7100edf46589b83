from django.db import migrations, models


class Migration(migrations.Migration):
    """The table was MCP servers' own, and has its new name already: only Django's state of the models changes."""

    dependencies = [
        ("access", "0004_tool_sets_and_connectors"),
        ("mcp_servers", "0005_former_names_to_access"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="FormerToolName",
                    fields=[
                        ("former", models.CharField(max_length=64, primary_key=True, serialize=False)),
                        ("current", models.CharField(max_length=64)),
                        ("until", models.DateTimeField()),
                    ],
                    options={"ordering": ("former",)},
                ),
            ],
        ),
    ]
