import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('hostaway', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='document',
            name='encoding',
            field=models.CharField(help_text='What its text was decoded from; empty: no text', max_length=40, null=True),
        ),
        migrations.AddField(
            model_name='document',
            name='sha256',
            field=models.CharField(default='', help_text='Of the file, hexadecimal', max_length=64),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='documentcontent',
            name='bytes',
            field=models.PositiveBigIntegerField(default=0, help_text='Of the text as UTF-8'),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='documentcontent',
            name='chars',
            field=models.PositiveBigIntegerField(default=0),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='documentcontent',
            name='is_loaded',
            field=models.BooleanField(default=False, help_text='All pieces are there'),
        ),
        migrations.AddField(
            model_name='documentcontent',
            name='lines',
            field=models.PositiveBigIntegerField(default=0),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name='document',
            name='bytes',
            field=models.PositiveBigIntegerField(help_text='Of the file'),
        ),
        migrations.AlterField(
            model_name='document',
            name='content',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='documents', to='hostaway.documentcontent'),
        ),
        migrations.AlterField(
            model_name='document',
            name='estimated_tokens',
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.AlterField(
            model_name='document',
            name='lines',
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.AlterField(
            model_name='documentcontent',
            name='digest',
            field=models.CharField(help_text='SHA-256 of the text as UTF-8, hexadecimal', max_length=64, primary_key=True, serialize=False),
        ),
        migrations.CreateModel(
            name='TextPlan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('cutting', models.CharField(help_text='The form of the text and the limits of a chunk', max_length=100)),
                ('chunks', models.PositiveBigIntegerField(help_text='Empty until all of them are found', null=True)),
                ('done_chars', models.PositiveBigIntegerField(default=0)),
                ('maker', models.CharField(blank=True, help_text='Who is making it', max_length=32)),
                ('begun_at', models.DateTimeField(null=True)),
                ('alive_at', models.DateTimeField(help_text='When its maker was last heard of', null=True)),
                ('content', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='plans', to='hostaway.documentcontent')),
            ],
        ),
        migrations.CreateModel(
            name='TextPlanBlock',
            fields=[
                ('pk', models.CompositePrimaryKey('plan', 'first_chunk', blank=True, editable=False, primary_key=True, serialize=False)),
                ('first_chunk', models.PositiveBigIntegerField()),
                ('start', models.PositiveBigIntegerField()),
                ('data', models.BinaryField(help_text='A ChunkPlan')),
                ('plan', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='blocks', to='hostaway.textplan')),
            ],
        ),
        migrations.CreateModel(
            name='TextPiece',
            fields=[
                ('pk', models.CompositePrimaryKey('content', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField()),
                ('first_line', models.PositiveBigIntegerField(help_text='The line, from 1, in which its first character is')),
                ('data', models.BinaryField(help_text='UTF-8, compressed by zlib')),
                ('content', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='pieces', to='hostaway.documentcontent')),
            ],
            options={
                'indexes': [models.Index(fields=['content', 'first_line', 'number'], name='text_piece_by_line')],
            },
        ),
        migrations.AddConstraint(
            model_name='textplan',
            constraint=models.UniqueConstraint(fields=('content', 'cutting'), name='one_plan_of_a_cutting'),
        ),
        migrations.AddIndex(
            model_name='textplanblock',
            index=models.Index(fields=['plan', 'start'], name='text_plan_block_by_start'),
        ),
    ]
