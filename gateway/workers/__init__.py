"""`manage.py serve --workers N`: several processes behind one listener, and the state that they share."""
