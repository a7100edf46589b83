"""An existing project of Django REST framework that knows nothing of Sluice, protected by its settings alone.

`serve.py` runs it in a process of its own, without gateway; test_brownfield.py calls it over HTTP.
"""
