import zlib

from django.db import migrations
from django.db.models import F

CHARS = 1 << 16


def move(apps, schema_editor):
    """Moves one text after the other from its row into pieces."""
    content_model = apps.get_model('hostaway', 'DocumentContent')
    piece_model = apps.get_model('hostaway', 'TextPiece')
    for digest in list(content_model.objects.values_list('digest', flat=True)):
        text = content_model.objects.values_list('text', flat=True).get(digest=digest)
        for start in range(0, len(text), CHARS):
            piece_model.objects.create(
                content_id=digest,
                number=start // CHARS,
                first_line=text.count('\n', 0, start) + 1,
                data=zlib.compress(text[start:start + CHARS].encode(), 1),
            )
        content_model.objects.filter(digest=digest).update(
            chars=len(text),
            lines=text.count('\n') + (bool(text) and not text.endswith('\n')),
            bytes=len(text.encode()),
            is_loaded=True,
        )
    apps.get_model('hostaway', 'Document').objects.update(encoding='utf-8', sha256=F('content_id'))


def move_back(apps, schema_editor):
    content_model = apps.get_model('hostaway', 'DocumentContent')
    piece_model = apps.get_model('hostaway', 'TextPiece')
    for digest in list(content_model.objects.values_list('digest', flat=True)):
        pieces = piece_model.objects.filter(content_id=digest).order_by('number').values_list('data', flat=True)
        text = ''.join(zlib.decompress(data).decode() for data in pieces)
        content_model.objects.filter(digest=digest).update(text=text)


class Migration(migrations.Migration):

    dependencies = [
        ('hostaway', '0002_texts_in_pieces'),
    ]

    operations = [
        migrations.RunPython(move, move_back),
    ]
