from django.db import migrations, models

OBJECTS = ("booking", "listing", "transaction")
SEALED = "The values that are masked in data, encrypted"
DATA = "The upstream object without its secrets, compact JSON"


class Migration(migrations.Migration):
    dependencies = [("hostaway", "0005_live_account")]

    operations = [
        *(
            migrations.AddField(name, "sealed", models.TextField(blank=True, default="", help_text=SEALED))
            for name in OBJECTS
        ),
        *(migrations.AlterField(name, "data", models.TextField(help_text=DATA)) for name in OBJECTS),
        *(
            migrations.AlterField(name, "field_count", models.PositiveIntegerField(help_text="Top-level fields"))
            for name in OBJECTS
        ),
        migrations.AlterField("webhookevent", "body", models.TextField(blank=True, help_text="The event, encrypted")),
    ]
