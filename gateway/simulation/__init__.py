"""Traffic for `manage.py simulate_traffic`: invented clients that make real calls to a running server."""
