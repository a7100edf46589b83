"""`manage.py serve --workers N`: several processes behind one listener, and what they share."""
