"""Masks the secrets in objects, texts and events that were stored before redaction existed, and encrypts their
values."""

import hashlib
import zlib
from itertools import chain

import orjson
from django.db import migrations, models

from context_protection.core import tokens
from context_protection.core.redaction import redact, redact_text
from gateway.connectors.hostaway import originals
from gateway.connectors.hostaway.text_redaction import redacted_parts
from gateway.upstreams.auth.vault import vault

BATCH = 500
CHARS = 1 << 16  # of a piece of a text


def mask(apps, schema_editor):
    for name in ('Listing', 'Booking', 'Transaction'):
        mask_objects(apps.get_model('hostaway', name))
    mask_documents(apps)
    seal_events(apps.get_model('hostaway', 'WebhookEvent'))


def mask_objects(model):
    texts = [
        field.name for field in model._meta.concrete_fields
        if isinstance(field, (models.TextField, models.CharField)) and field.name not in {'data', 'sealed'}
    ]
    for row in model.objects.order_by('pk').iterator(chunk_size=BATCH):
        upstream = orjson.loads(row.data)
        clean, findings = redact(upstream)
        if not findings:
            continue
        row.data, row.sealed = orjson.dumps(clean).decode(), originals.sealed(upstream, findings)
        row.chars, row.field_count = len(row.data), len(clean)
        for name in texts:
            if value := getattr(row, name):
                setattr(row, name, redact_text(value)[0])
        row.save(update_fields=['data', 'sealed', 'chars', 'field_count', *texts])


def mask_documents(apps):
    content_model = apps.get_model('hostaway', 'DocumentContent')
    document_model = apps.get_model('hostaway', 'Document')
    piece_model = apps.get_model('hostaway', 'TextPiece')
    for document in document_model.objects.all():
        title = redact_text(document.title)[0]
        if title != document.title:
            document_model.objects.filter(pk=document.pk).update(title=title)
    for content in list(content_model.objects.filter(is_loaded=True)):
        figures = figures_of(redacted_parts(texts_of(piece_model, content.digest)))
        if figures['digest'] == content.digest:
            continue
        masked, made = content_model.objects.get_or_create(
            digest=figures['digest'], defaults={**figures, 'is_loaded': True, 'unused_since': content.unused_since}
        )
        if made:
            write(piece_model, masked.digest, redacted_parts(texts_of(piece_model, content.digest)))
        document_model.objects.filter(content_id=content.digest).update(
            content_id=masked.digest,
            lines=figures['lines'],
            estimated_tokens=tokens.formula_of_length(figures['chars']),
        )
        content.delete()


def texts_of(piece_model, digest):
    numbers = piece_model.objects.filter(content_id=digest).order_by('number').values_list('number', flat=True)
    for number in list(numbers):
        data = piece_model.objects.values_list('data', flat=True).get(content_id=digest, number=number)
        yield zlib.decompress(data).decode()


def figures_of(parts):
    digest, chars, breaks, size, end = hashlib.sha256(), 0, 0, 0, '\n'
    for text in parts:
        data = text.encode()
        digest.update(data)
        chars, breaks, size, end = chars + len(text), breaks + text.count('\n'), size + len(data), text[-1]
    return {'digest': digest.hexdigest(), 'chars': chars, 'lines': breaks + (end != '\n'), 'bytes': size}


def write(piece_model, digest, parts):
    line, number, rest = 1, 0, ''
    for part in chain(parts, [None]):
        rest += part or ''
        while len(rest) >= CHARS or (part is None and rest):
            text, rest = rest[:CHARS], rest[CHARS:]
            data = zlib.compress(text.encode(), 1)
            piece_model.objects.create(content_id=digest, number=number, first_line=line, data=data)
            line, number = line + text.count('\n'), number + 1


def seal_events(model):
    for event in model.objects.exclude(body='').iterator(chunk_size=BATCH):
        model.objects.filter(pk=event.pk).update(body=vault().seal(event.body))


class Migration(migrations.Migration):

    dependencies = [
        ('hostaway', '0006_secrets_are_masked'),
    ]

    operations = [
        migrations.RunPython(mask, migrations.RunPython.noop),
    ]
