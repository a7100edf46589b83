"""The pages and probes of the web process itself: home, health, metrics, and who may see them."""
