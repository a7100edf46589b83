from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('hostaway', '0003_move_texts'),
    ]

    operations = [
        migrations.AlterField(  # so that it can come back, empty, when this is undone
            model_name='documentcontent',
            name='text',
            field=models.TextField(default=''),
        ),
        migrations.RemoveField(
            model_name='documentcontent',
            name='text',
        ),
    ]
